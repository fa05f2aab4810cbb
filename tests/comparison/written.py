"""Runs written to disk as trainings write them, for tests of the comparison."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def write_run(
    folder: Path,
    floor: float,
    config: dict[str, Any] | None = None,
    *,
    steps: int = 50,
    pace: float = 0.1,
    noise: float = 0.01,
    seed: int = 0,
    shape: Callable[[np.ndarray], np.ndarray] | None = None,
    kind: str = "csv",
) -> Path:
    """A run that falls from 2.3 to `floor` in `steps` rows, with its settings beside it."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    place = np.arange(steps)
    level = (2.3 - floor) * np.exp(-place * pace) + floor if shape is None else shape(place)
    train, val = level + random.normal(0, noise, steps), level * 1.05 + random.normal(0, noise, steps)
    if kind == "csv":
        lines = ["step,train_loss,val_loss", *(f"{10 * i},{train[i]:.5f},{val[i]:.5f}" for i in place)]
        path = folder / "metrics.csv"
    else:
        rows = ({"step": 10 * int(i), "train/loss": float(train[i]), "eval/loss": float(val[i])} for i in place)
        lines = [json.dumps(row) for row in rows]
        path = folder / "log.jsonl"
    path.write_text("\n".join(lines) + "\n")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder
