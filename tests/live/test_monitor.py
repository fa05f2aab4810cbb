"""Alerts while a training runs: early, once, and only where several looks agree."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from traindx.live.outside import monitor
from traindx.live.outside.monitor import Monitor


class Recorded:
    """A training that takes a hundred steps a second, followed by a monitor whose clock it sets."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.told: list[tuple[int, str]] = []
        self._file = folder / "rank-0.jsonl"
        self._step = 0
        self._file.write_text(json.dumps({"k": "config", "optimizer": "Adam", "batch_size": 32}) + "\n")
        monkeypatch.setattr(monitor.time, "monotonic", lambda: self.now)
        self._monitor = Monitor(folder)

    def second(self, lr: float, loss: float, noise: float = 0.03) -> None:
        rows = [[s, loss + noise * math.sin(s * s), lr] for s in range(self._step, self._step + 100)]
        self._step += 100
        self.now += 1.0
        with self._file.open("a") as file:
            file.write(json.dumps({"k": "rows", "names": ["train_loss", "lr"], "rows": rows}) + "\n")
        self._monitor.update()
        self.told += [(self._step, text) for text in self._monitor.alerts()]


def test_a_rate_that_moves_nothing_is_told_long_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Recorded(tmp_path, monkeypatch)
    for _ in range(20):
        training.second(1e-9, 1.386)
    assert len(training.told) == 1
    step, text = training.told[0]
    assert step <= 1000
    assert "lr-too-low" in text


def test_a_training_that_learns_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Recorded(tmp_path, monkeypatch)
    for second in range(20):
        training.second(1e-3, 0.2 + 1.2 * math.exp(-second / 4))
    assert training.told == []


def test_one_look_alone_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that starts at next to nothing looks the same at first."""
    training = Recorded(tmp_path, monkeypatch)
    for _ in range(3):
        training.second(1e-9, 1.386)
    for second in range(20):
        training.second(1e-3, 0.2 + 1.2 * math.exp(-second / 4))
    assert training.told == []
