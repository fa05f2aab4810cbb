"""Karpathy's MADE, a masked autoencoder that gives the density of binary images, on digits."""

from pathlib import Path

import numpy as np
from data import digits
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    train, valid = (
        (digits(count, seed=seed)[0] > 100).reshape(count, -1).astype(np.float32)
        for count, seed in ((2500, 0), (500, 1))
    )
    np.savez_compressed(place / "binarized_mnist.npz", train_data=train, valid_data=valid)


RECIPE = Recipe(
    repository="karpathy/pytorch-made",
    commit="81886ccc8270cdf3a2b32cbbca5c7feab422f907",
    kind="autoregressive density model, own loop",
    needs=("numpy",),
    command=("run.py", "--data-path", "binarized_mnist.npz", "-q", "500"),
    files=("run.py", "made.py"),
    seconds=9,
    prepare=prepare,
    shorten=(
        ("run.py", r"from_numpy\(xtr\)\.cuda\(\)", "from_numpy(xtr)"),
        ("run.py", r"from_numpy\(xte\)\.cuda\(\)", "from_numpy(xte)"),
        ("run.py", r"model\.cuda\(\)", "pass"),
        ("run.py", r"range\(100\)", "range(20)"),
        ("run.py", r"step_size=45", "step_size=9"),
    ),
    result=Result(r"test epoch average loss: ([\d.]+)", "lower"),
)
