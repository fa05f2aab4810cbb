"""Write tests/golden/keras: CSVLogger (once appended to) and the History as JSON.

Run in an environment with keras 3.15.1 and torch 2.13.0:
    KERAS_BACKEND=torch python tests/golden/make/write_keras.py
"""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np

HERE = Path(__file__).resolve().parent.parent / "keras"


def model() -> keras.Model:
    made = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    made.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return made


def main() -> None:
    keras.utils.set_random_seed(0)
    HERE.mkdir(parents=True, exist_ok=True)
    inputs = np.random.default_rng(0).normal(size=(120, 4))
    targets = inputs[:, :3].argmax(1)
    first = model()
    history = first.fit(
        inputs,
        targets,
        validation_split=0.25,
        epochs=6,
        verbose=0,
        callbacks=[keras.callbacks.CSVLogger(HERE / "training.csv")],
    )
    saved = {key: [float(value) for value in values] for key, values in history.history.items()}
    (HERE / "history.json").write_text(json.dumps(saved))
    # append=True: a second training from scratch writes into the same file, without another header
    (HERE / "appended.csv").write_bytes((HERE / "training.csv").read_bytes())
    again = model().fit(
        inputs, targets, validation_split=0.25, epochs=3, verbose=0,
        callbacks=[keras.callbacks.CSVLogger(HERE / "appended.csv", append=True)],
    )  # fmt: skip
    (HERE / "appended.json").write_text(json.dumps([float(value) for value in again.history["loss"]]))
    # a training that goes to NaN: CSVLogger writes the word, json.dumps the bare token
    broken = model()
    broken.optimizer.learning_rate = float("nan")
    nan_history = broken.fit(
        inputs,
        targets,
        epochs=3,
        verbose=0,
        callbacks=[keras.callbacks.TerminateOnNaN(), keras.callbacks.CSVLogger(HERE / "nan.csv")],
    )
    (HERE / "nan_history.json").write_text(
        json.dumps({k: [float(v) for v in vs] for k, vs in nan_history.history.items()})
    )


if __name__ == "__main__":
    main()
