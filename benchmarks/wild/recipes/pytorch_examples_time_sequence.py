"""The time sequence example of PyTorch: two LSTM cells in double precision learn sine waves with L-BFGS."""

from pathlib import Path

import numpy as np
from recipe import Recipe, Result


def prepare(place: Path) -> None:
    import torch

    draw = np.random.default_rng(2)
    times = np.arange(60) + draw.integers(-16, 16, (30, 1))
    torch.save(np.sin(times / 4.0), place / "time_sequence_prediction" / "traindata.pt")


RECIPE = Recipe(
    repository="pytorch/examples",
    commit="77f55b912142e11fcfdf5b530231fb9c52f181e8",
    paths=("time_sequence_prediction",),
    kind="recurrent net on time series, L-BFGS",
    needs=("numpy", "matplotlib"),
    folder="time_sequence_prediction",
    command=("train.py", "--steps", "8"),
    files=("time_sequence_prediction/train.py",),
    seconds=14,
    prepare=prepare,
    shorten=(
        ("time_sequence_prediction/train.py", r"load\('traindata.pt'\)", "load('traindata.pt', weights_only=False)"),
        ("time_sequence_prediction/train.py", r"future = 1000", "future = 60"),
    ),
    result=Result(r"test loss: (\S+)", "lower"),
)
