"""LTSF-Linear: DLinear forecasts a day of hourly series, with early stopping and a halving learning rate."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

HOURS, SERIES = 2000, 4


def prepare(place: Path) -> None:
    import pandas as pd

    for name in ("FEDformer", "Pyraformer", "pics"):
        shutil.rmtree(place / name)
    draw = np.random.default_rng(0)
    hour = np.arange(HOURS)
    columns: dict[str, object] = {"date": pd.date_range("2020-01-01", periods=HOURS, freq="h")}
    for number in range(SERIES):
        day = np.sin(2 * np.pi * (hour / 24 + draw.uniform()))
        week = np.sin(2 * np.pi * (hour / 168 + draw.uniform()))
        columns["OT" if number == SERIES - 1 else f"S{number}"] = 10 + 3 * day + 2 * week + draw.normal(0, 0.8, HOURS)
    (place / "dataset").mkdir()
    pd.DataFrame(columns).to_csv(place / "dataset" / "hourly.csv", index=False)


RECIPE = Recipe(
    repository="cure-lab/LTSF-Linear",
    commit="0c113668a3b88c4c4ee586b8c5ec3e539c4de5a6",
    kind="time series forecasting (DLinear), own loop",
    needs=("numpy", "pandas", "matplotlib", "scikit-learn"),
    command=(
        "run_longExp.py", "--is_training=1", "--root_path=./dataset/", "--data_path=hourly.csv", "--model_id=hourly",
        "--model=DLinear",
        "--data=custom", "--features=M", "--seq_len=96", "--pred_len=24", "--enc_in=4", "--itr=1", "--batch_size=32",
        "--learning_rate=0.005", "--train_epochs=6", "--num_workers=0",
    ),
    files=("exp/exp_main.py", "run_longExp.py", "models/DLinear.py", "data_provider/data_loader.py", "utils/tools.py"),
    seconds=7,
    prepare=prepare,
    shorten=(("utils/tools.py", r"np\.Inf", "np.inf"),),
    result=Result(r"mse:([\d.]+)", "lower"),
)  # fmt: skip
