"""PyTorch Frame's tutorial: a self-attention network over the columns of a table, as in the census income data."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

PARTS = {"train": 5000, "val": 800, "test": 800}


def prepare(place: Path) -> None:
    for name in ("docs", "test"):
        shutil.rmtree(place / name)
    draw = np.random.default_rng(0)
    folder = place / "data" / "adult"
    folder.mkdir(parents=True)
    weight = draw.normal(0, 1.2, (4, 6))
    with zipfile.ZipFile(folder / "adult.zip", "w") as kept:
        for part, count in PARTS.items():
            number, chosen = draw.normal(0, 1, (count, 5)), draw.integers(0, 6, (count, 4))
            score = (
                1.5 * number[:, 0]
                - np.abs(number[:, 1])
                + number[:, 2]
                + sum(weight[one, chosen[:, one]] for one in range(3))
            )
            label = (score + draw.logistic(0, 0.3, count) > np.median(score)).astype(np.int64)
            for name, array in (("N", number.astype(np.float32)), ("C", chosen.astype(str)), ("y", label)):
                with kept.open(f"adult/{name}_{part}.npy", "w") as file:
                    np.save(file, array)


RECIPE = Recipe(
    repository="pyg-team/pytorch-frame",
    commit="f6ff914e6668a48831be020b2b7f5db11f43089f",
    kind="tabular network, own loop",
    needs=("numpy", "pandas", "pyarrow", "scikit-learn", "tqdm"),
    command=("examples/tutorial.py", "--channels=32", "--batch_size=128", "--epochs=6"),
    files=("examples/tutorial.py",),
    seconds=7,
    prepare=prepare,
    result=Result(r"Best Test Acc: (\S+)", "higher"),
    environment={"PYTHONPATH": "."},
)
