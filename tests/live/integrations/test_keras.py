"""The Keras callback around real, tiny trainings, on whatever backend Keras is set to."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_task import CLASSES, INPUTS, TRAINED, task

from traindx.readers.find import find_runs


def _keras() -> Any:
    """Keras raises whatever its backend raises where that is not installed."""
    try:
        return importlib.import_module("keras")
    except ImportError as error:
        pytest.skip(str(error), allow_module_level=True)


keras = _keras()


class Losses(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
    """The loss of every batch, by another way: worked out by hand. That it wants to hear of the end of batches makes
    Keras tell all of them in their order."""

    def __init__(self, x: Any, y: Any) -> None:
        super().__init__()
        self.x, self.y, self.values = x, y, []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        rows = slice(32 * batch, 32 * batch + 32)
        out = np.asarray(keras.ops.convert_to_numpy(self.model(self.x[rows])), dtype=np.float64)
        self.values.append(-np.log(out[np.arange(len(out)), self.y[rows]]).mean())

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        assert len(self.values) % 20 == (batch + 1) % 20


def fit(optimizer: Any, *callbacks: Any, epochs: int = 6, shuffle: bool = True) -> list[Any]:
    keras.utils.set_random_seed(0)
    x, y = task()
    hidden = keras.layers.Dense(16, activation="relu", name="hidden")
    model = keras.Sequential([keras.layers.Input((INPUTS,)), hidden, keras.layers.Dense(CLASSES, activation="softmax")])
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        x[:TRAINED], y[:TRAINED], validation_data=(x[TRAINED:], y[TRAINED:]), batch_size=32, epochs=epochs, verbose=0,
        callbacks=list(callbacks), shuffle=shuffle,
    )  # fmt: skip
    return [np.asarray(keras.ops.convert_to_numpy(weight)) for weight in model.weights]


def test_a_healthy_training_is_healthy_and_unchanged(tmp_path: Path) -> None:
    from traindx.keras import TraindxCallback

    bare = fit(keras.optimizers.Adam(0.01))
    callback = TraindxCallback(to=tmp_path / "k.traindx")
    weights = fit(keras.optimizers.Adam(0.01), callback)
    assert all(np.array_equal(one, other) for one, other in zip(bare, weights, strict=True))
    assert callback.diagnosis.verdict == "healthy"
    (run,) = find_runs([tmp_path / "k.traindx"])
    assert 100 <= len(run.series["train_loss"]) <= 120  # two that other threads tell out of turn are taken as one
    assert len(run.series["val_loss"]) == len(run.series["val_accuracy"]) == 6
    assert {"lr", "grad_norm", "weight_norm/hidden.kernel", "update_ratio/hidden.kernel"} <= set(run.series)
    assert run.config["settings.num_classes"] == CLASSES


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_losses_and_gradients_are_worked_out_right(tmp_path: Path, name: str) -> None:
    from traindx.keras import TraindxCallback

    x, y = task()
    truth = Losses(x, y)
    callback = TraindxCallback(to=tmp_path / "k.traindx", report=False, budget=1.0)
    fit(getattr(keras.optimizers, name)(0.01), truth, callback, epochs=2, shuffle=False)
    (run,) = find_runs([tmp_path / "k.traindx"])
    assert run.series["train_loss"].values == pytest.approx(truth.values, rel=2e-4)
    if name == "SGD":  # the step is the rate times the gradient, whatever the backend
        ratios, sizes = (run.series[f"{kind}/hidden.kernel"].values for kind in ("update_ratio", "weight_norm"))
        assert run.series["grad_norm/hidden.kernel"].values == pytest.approx(ratios * sizes / 0.01, rel=1e-3)
    # Adam's first step is the rate along the sign of each gradient: it cannot tell, but the sizes are those of SGD
    else:
        norms = run.series["grad_norm"].values
        assert 1e-3 < np.median(norms) < 10


def test_too_high_a_rate_is_told(tmp_path: Path) -> None:
    from traindx.keras import TraindxCallback

    callback = TraindxCallback(to=tmp_path / "k.traindx", report=False)
    fit(keras.optimizers.SGD(30.0), callback)
    assert callback.diagnosis.verdict == "unhealthy"
    assert callback.diagnosis.hypotheses[0].cause == "lr-too-high"


@pytest.mark.parametrize(
    ("activation", "from_logits", "cause"),
    [
        ("softmax", True, "softmax-before-cross-entropy"),
        (None, False, "nll-without-log-softmax"),
        (None, True, "healthy"),
    ],
)
def test_the_flag_of_the_loss_is_held_against_the_last_layer(
    tmp_path: Path, activation: str | None, from_logits: bool, cause: str
) -> None:
    from traindx.keras import TraindxCallback

    keras.utils.set_random_seed(0)
    x, y = task()
    hidden = keras.layers.Dense(16, activation="relu")
    model = keras.Sequential([keras.layers.Input((INPUTS,)), hidden, keras.layers.Dense(CLASSES, activation)])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits))
    callback = TraindxCallback(to=tmp_path / "k.traindx", report=False)
    held_out = x[TRAINED:], y[TRAINED:]
    model.fit(x[:TRAINED], y[:TRAINED], validation_data=held_out, epochs=6, verbose=0, callbacks=[callback])
    assert callback.diagnosis.hypotheses[0].cause == cause


def test_a_rate_that_nobody_sets_is_named_from_the_settings(tmp_path: Path) -> None:
    from traindx.keras import TraindxCallback

    callback = TraindxCallback(to=tmp_path / "k.traindx", report=False)
    fit(keras.optimizers.Adam(0.5), callback)
    assert callback.diagnosis.verdict == "unhealthy"
    assert callback.diagnosis.hypotheses[0].cause == "lr-too-high"
