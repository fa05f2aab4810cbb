"""Informer2020: the Informer forecasts a day of hourly series, with early stopping and a halving learning rate."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

HOURS, SERIES = 2000, 3


def prepare(place: Path) -> None:
    import pandas as pd

    shutil.rmtree(place / "img")
    draw = np.random.default_rng(0)
    hour = np.arange(HOURS)
    columns: dict[str, object] = {"date": pd.date_range("2020-01-01", periods=HOURS, freq="h")}
    for number in range(SERIES):
        day = np.sin(2 * np.pi * (hour / 24 + draw.uniform()))
        half = np.sin(2 * np.pi * (hour / 12 + draw.uniform()))
        columns["OT" if number == SERIES - 1 else f"S{number}"] = 10 + 3 * day + half + draw.normal(0, 0.6, HOURS)
    (place / "data" / "hourly").mkdir()
    pd.DataFrame(columns).to_csv(place / "data" / "hourly" / "hourly.csv", index=False)


RECIPE = Recipe(
    repository="zhouhaoyi/Informer2020",
    commit="29f2a739226a509202a092b464163da81fa74960",
    kind="time series forecasting (transformer), own loop",
    needs=("numpy", "pandas", "matplotlib", "scikit-learn"),
    command=(
        "main_informer.py", "--model=informer", "--data=custom", "--root_path=./data/hourly/", "--data_path=hourly.csv",
        "--features=M",
        "--seq_len=48", "--label_len=24", "--pred_len=24", "--enc_in=3", "--dec_in=3", "--c_out=3", "--d_model=32",
        "--n_heads=4",
        "--d_ff=64", "--itr=1", "--train_epochs=5", "--batch_size=32", "--learning_rate=0.001",
    ),
    files=("exp/exp_informer.py", "main_informer.py", "models/model.py", "models/attn.py", "data/data_loader.py"),
    seconds=15,
    prepare=prepare,
    shorten=(("utils/tools.py", r"np\.Inf", "np.inf"),),
    result=Result(r"mse:([\d.]+)", "lower"),
)  # fmt: skip
