"""Keras on torch without our callback: which optimiser it is and at which rate it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from traindx.readers.find import find_runs

SCRIPT = """
import keras, numpy as np
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
net = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
net.compile(optimizer={optimizer}, loss="mse")
net.fit(x, x.sum(1, keepdims=True), epochs=2, batch_size=16, verbose=0)
print(float(net.evaluate(x, x.sum(1, keepdims=True), verbose=0)))
"""
DECAYED = "keras.optimizers.schedules.ExponentialDecay(0.1, 8, 0.5)"


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        ("keras.optimizers.Adam(0.02, clipnorm=1.0)", {"optimizer": "Adam", "lr": 0.02}),
        (f"keras.optimizers.SGD({DECAYED}, momentum=0.5)", {"optimizer": "SGD", "lr": 0.1, "momentum": 0.5}),
    ],
)
def test_settings_of_an_optimiser_of_keras(tmp_path: Path, optimizer: str, expected: dict[str, object]) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(optimizer=optimizer))
    command = [sys.executable, "-m", "traindx", "run", "--quiet", "--to", "run.traindx", "train.py"]
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=100)
    found = find_runs([tmp_path / "run.traindx"])[0]
    assert {name: found.config.get(name) for name in expected} == expected
    assert "update_by_hand" not in found.config
    rates = found.series["lr"].values
    assert rates[-1] == pytest.approx(0.1 * 0.5 ** (rates.size / 8), rel=0.2) if "Decay" in optimizer else True
