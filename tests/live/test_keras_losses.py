"""Keras on torch without our callback: whether its loss is given what it wants."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from traindx.engine import diagnose
from traindx.readers.find import find_runs

SCRIPT = """
import keras, numpy as np
keras.utils.set_random_seed(0)
x = np.random.default_rng(0).normal(size=(512, 8)).astype("float32")
net = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(4, activation={activation!r})])
net.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
net.fit(x, x[:, :4].argmax(1), epochs=8, batch_size=16, validation_split=0.2, verbose=0)
"""


@pytest.mark.parametrize("activation", ["softmax", None])
def test_scores_given_to_a_loss_of_probabilities(tmp_path: Path, activation: str | None) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.format(activation=activation))
    command = [sys.executable, "-m", "traindx", "run", "--quiet", "--to", "run.traindx", "train.py"]
    environment = {**os.environ, "KERAS_BACKEND": "torch"}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=100)
    page = diagnose(find_runs([tmp_path / "run.traindx"])[0])
    if activation is None:
        assert (page.verdict, page.hypotheses[0].cause) == ("unhealthy", "nll-without-log-softmax")
    else:
        assert page.verdict != "unhealthy"
