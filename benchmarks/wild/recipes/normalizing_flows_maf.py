"""A masked autoregressive flow of kamenbliznashki/normalizing_flows on a table of ten correlated columns."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    shutil.rmtree(place / "images")
    draw = np.random.default_rng(0)
    cause = draw.normal(size=(6000, 3))
    table = (
        np.tanh(cause @ draw.normal(size=(3, 10)))
        + (cause**2) @ draw.uniform(0, 0.3, (3, 10))
        + draw.normal(0, 0.2, (6000, 10))
    )
    folder = place / "data" / "miniboone"
    folder.mkdir(parents=True)
    np.save(folder / "data.npy", table.astype(np.float32))


RECIPE = Recipe(
    repository="kamenbliznashki/normalizing_flows",
    commit="97a73a01bcee3ac8015dfeeb3cffb035ec39a1f2",
    kind="normalizing flow, own loop",
    needs=("torchvision", "numpy", "matplotlib"),
    command=(
        "maf.py",
        "--train",
        "--dataset",
        "MINIBOONE",
        "--n_epochs",
        "8",
        "--lr",
        "1e-3",
        "--log_interval",
        "20",
        "--no_cuda",
    ),
    files=("maf.py", "data.py", "datasets/miniboone.py"),
    seconds=7,
    prepare=prepare,
    result=Result(r"logp\(x\) = (-?[\d.]+)", "higher"),
)
