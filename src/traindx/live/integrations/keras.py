"""Keras 3, on any backend: `model.fit(…, callbacks=[TraindxCallback()])`.

Keras tells a callback the mean of the epoch so far, from which the loss of each batch is worked out. Weights are read
before and after a step as often as the budget allows, the first steps always; nothing is added to the compiled step, so
that its numbers cannot change. Keras hands no gradients out: they are read where the torch backend leaves them, and
elsewhere they are worked out of what the optimiser made of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindx.diagnosis import Diagnosis
from traindx.live.integrations.keras_loss import declared_loss
from traindx.live.integrations.keras_weights import Look, Start, learning_rate
from traindx.live.integrations.standalone import Recording
from traindx.meaning import meaning_of

if TYPE_CHECKING:
    keras: Any

    class Callback:
        model: Any
        params: Any

        def set_model(self, model: Any) -> None: ...
else:
    import keras
    from keras.callbacks import Callback

COARSE = 6e-5  # of the batches so far: what a mean in single precision can still resolve to a part in a thousand


class TraindxCallback(Callback):
    """Records `fit` and prints the diagnosis at its end, or at the end of the script where an exception came first.
    `diagnosis` holds the page; the recording is NAME.traindx."""

    async_safe = True  # Keras may tell the ends of batches from another thread: those only keep what they are reported

    def __init__(self, to: str | Path | None = None, *, budget: float = 0.01, report: bool = True) -> None:
        """`to`: where to record, keras.traindx by default; `budget`: the share of time it may take."""
        super().__init__()
        self._recording = Recording("keras", to, budget, report)
        self._logs: dict[int, dict[str, float]] = {}  # by batch of this epoch
        self._sums: dict[str, float] = {}  # what the means of this epoch add up to
        self._base = 0  # updates before this epoch
        self._batch = -1  # the last one of this epoch that is recorded
        self._last = -1  # the last one that was reported
        self._look: tuple[int, Look] | None = None
        self._looked: dict[int, dict[str, float]] = {}  # what was measured here, by update
        self._began = 0.0  # the step under way
        self._start: Start | None = None
        self._means: frozenset[str] = frozenset()
        self._trained: Any = None

    @property
    def diagnosis(self) -> Diagnosis:
        return self._recording.diagnosis

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._trained = model  # `self.model` makes JAX put its state back into the model, at every use

    def on_train_begin(self, logs: dict[str, float] | None = None) -> None:
        self._base, self._start = 0, None
        self._recording.begin(keras=keras.__version__, backend=keras.backend.backend())
        model, optimizer = self._trained, self._trained.optimizer
        self._recording.config(
            {
                "optimizer": type(optimizer).__name__,
                "lr": learning_rate(optimizer),
                "weight_decay": getattr(optimizer, "weight_decay", None),
                "clipnorm": getattr(optimizer, "clipnorm", None) or getattr(optimizer, "global_clipnorm", None),
                "loss": _name(getattr(model, "loss", None)),
                "max_epochs": (self.params or {}).get("epochs"),
                "num_classes": _classes(model),
                "model_parameters": model.count_params() if model.built else None,
            }
        )

        declared = declared_loss(model)
        if declared is not None:
            self._recording.measure(declared)

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._logs, self._sums, self._batch, self._last = {}, {}, -1, -1
        self._began = 0.0
        self._means = frozenset(metric.name for metric in self._trained.metrics)

    def on_train_batch_begin(self, batch: int, logs: dict[str, float] | None = None) -> None:
        looked = self._finish_look()
        now = time.perf_counter()
        if self._began and not looked:  # a close look is not the training's time
            self._looked[self._base + batch - 1] = {"step_time": now - self._began}
        self._drain()
        self._began = time.perf_counter()
        if self._recording.affordable:
            with self._recording.look():
                if self._start is None:
                    self._start = Start(self.model)
                self._look = self._base + batch, Look(self.model)

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self._logs[batch] = dict(logs or {})

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._finish_look()
        self._drain()
        self._base += self._last + 1
        reported = {
            name if meaning_of(name).split else f"train_{name}_epoch": value for name, value in (logs or {}).items()
        }
        row = {"epoch": float(epoch + 1), **{name: value for name, value in reported.items() if _is_number(value)}}
        self._recording.row(self._base, row)

    def on_train_end(self, logs: dict[str, float] | None = None) -> None:
        if self._start is not None:
            self._recording.row(self._base, self._start.travel())
            self._start = None
        self._recording.end()

    def _finish_look(self) -> bool:
        """The step that was looked at is over: what it changed. Whether there was one."""
        if self._look is None:
            return False
        (step, before), self._look = self._look, None
        with self._recording.look():
            self._looked[step] = before.after(self.model) | (self._start.travel() if self._start is not None else {})
        return True

    def _drain(self) -> None:
        """Record what came of batches. One report may stand for several, those that one execution ran or that another
        thread is yet to tell: its loss is their mean."""
        reported = list(self._logs)  # in one go: another thread may be adding to it
        for batch in sorted(reported):
            logs = self._logs.pop(batch)
            self._last = max(self._last, batch)
            if batch - self._batch <= COARSE * batch:
                continue
            values = self._of_batches(logs, self._batch, batch)
            for step in sorted(step for step in self._looked if step <= self._base + batch):
                values.update(self._looked.pop(step))
            self._recording.row(self._base + batch, values)
            self._batch = batch

    def _of_batches(self, logs: dict[str, float], before: int, last: int) -> dict[str, float]:
        """The losses of the batches after `before` up to `last`."""
        values: dict[str, float] = {}
        for name, value in logs.items():
            if meaning_of(name).kind != "loss":
                continue
            if name in self._means:
                total = value * (last + 1)
                value, self._sums[name] = (total - self._sums.get(name, 0.0)) / (last - before), total
            values["train_loss" if name == "loss" else f"train_{name}"] = value
        return values


def _name(loss: Any) -> str | None:
    return loss if isinstance(loss, str) or loss is None else getattr(loss, "name", type(loss).__name__)


def _classes(model: Any) -> int | None:
    """How many classes a classifier tells apart, where its loss says that it is one."""
    shape = getattr(model, "output_shape", None)
    if "categorical_crossentropy" not in str(_name(getattr(model, "loss", None))) or not isinstance(shape, tuple):
        return None
    return shape[-1] if isinstance(shape[-1], int) and shape[-1] > 1 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
