"""The example of DeepCTR-Torch: DeepFM predicts clicks from Criteo-like columns, with the library's compile and fit."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

ROWS, SPARSE, DENSE = 1600, 26, 13


def prepare(place: Path) -> None:
    import pandas as pd

    shutil.rmtree(place / "docs")
    draw = np.random.default_rng(0)
    columns: dict[str, object] = {}
    score = np.zeros(ROWS)
    for number in range(1, DENSE + 1):
        value = draw.exponential(10.0, ROWS).round()
        score += 0.06 * (value - 10) * (number <= 3)
        columns[f"I{number}"] = np.where(draw.random(ROWS) < 0.1, np.nan, value)
    for number in range(1, SPARSE + 1):
        values = int(draw.integers(4, 12))
        chosen = draw.integers(0, values, ROWS)
        score += draw.normal(0, 1.2, values)[chosen] * (number <= 5)
        columns[f"C{number}"] = [f"{number:02x}{one:06x}" for one in chosen]
    label = (draw.random(ROWS) < 1 / (1 + np.exp(-score))).astype(int)
    pd.DataFrame({"label": label, **columns}).to_csv(place / "examples" / "criteo_sample.txt", index=False)


RECIPE = Recipe(
    repository="shenweichen/DeepCTR-Torch",
    commit="f6854257b1fc29caab655ce72c6b5528b7432574",
    kind="click-through rate (DeepFM), library's fit",
    needs=("keras", "numpy", "pandas", "scikit-learn", "tqdm"),
    command=("run_classification_criteo.py",),
    files=(
        "examples/run_classification_criteo.py",
        "deepctr_torch/models/basemodel.py",
        "deepctr_torch/models/deepfm.py",
    ),
    folder="examples",
    seconds=11,
    prepare=prepare,
    shorten=(
        ("deepctr_torch/models/basemodel.py", r"tensorflow\.python\.keras\.callbacks", "keras.callbacks"),
        ("deepctr_torch/callbacks.py", r"tensorflow\S+ import EarlyStopping", "keras.callbacks import EarlyStopping"),
        (
            "deepctr_torch/callbacks.py",
            r"tensorflow\S+ import ModelCheckpoint",
            "keras.callbacks import ModelCheckpoint",
        ),
        ("deepctr_torch/callbacks.py", r"tensorflow\S+ import History", "keras.callbacks import History"),
    ),
    result=Result(r"test AUC (\S+)", "higher"),
    environment={"PYTHONPATH": "..", "KERAS_BACKEND": "torch"},
)
