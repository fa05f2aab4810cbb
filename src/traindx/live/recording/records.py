"""What observers write down: values of the current step, measurements, facts, settings and events, and how they reach
the disk.

The hub is one of these by inheritance, so that recording a value costs one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.live.recording.measuring import Measuring
from traindx.live.recording.store import Store
from traindx.live.recording.thinning import Thinning
from traindx.live.recording.values import Number, Values
from traindx.measurements import LINE, Measurement, as_line


class Records:
    """`step` counts optimiser updates."""

    def __init__(self, open_store: Callable[[], Store], give_up: Callable[[str], None]) -> None:
        """`give_up` is reported why nothing can be recorded any more."""
        self.step = 0
        self.values = Values()
        self._thinning = Thinning()
        self._open_store = open_store
        self._give_up_on = give_up
        self._store: Store | None = None
        self._measuring = Measuring(self._write_measurement)
        self._number: tuple[torch.Tensor, Number | None] | None = None

    @property
    def store(self) -> Store:
        """The recording, opened when there is something to record: processes that never train leave no file."""
        if self._store is None:
            self._store = self._open_store()
            if self._store.broken:
                self._give_up_on(f"not recording: {self._store.broken}")
        return self._store

    def number_of(self, loss: torch.Tensor) -> Number | None:
        """The number in the loss that `backward` is about to run on, fetched once for all observers."""
        if self._number is None or self._number[0] is not loss:
            self._number = (loss, self.values.fetch(loss))
        return self._number[1]

    def record(self, name: str, value: Number | torch.Tensor | float) -> None:
        """A value of the current step. A tensor on a device is copied later, without waiting for it."""
        self.values.add(self.step, name, value)

    def measure(self, measurement: Measurement) -> None:
        """Numbers of the current step that a symptom will judge; `step` need not be set."""
        self._measuring.add(measurement, self.step)

    def config(self, **settings: Any) -> None:
        self.store.line("config", **settings)

    def event(self, kind: str, text: str) -> None:
        self.store.line("event", event=kind, text=text, step=self.step)

    def printed(self, text: str, step: int) -> None:
        """A line that the training printed after so many updates."""
        self.store.line("printed", text=text, step=step)

    def _write_measurement(self, measurement: Measurement, step: int) -> None:
        self.store.line(LINE, **as_line(measurement, step))

    def _write_rows(self, wait: bool, cost: float, seconds: float) -> None:
        """What has arrived, with `wait` all of it, and what recording has cost so far."""
        keep = self._thinning.keep
        # before the first update there is no training to record
        for step, row in self.values.ready(wait=wait) if self.step else ():
            kept = keep(step, row)
            if kept:
                self.store.row(step, kept)
        for step, row in self._thinning.rest() if wait else ():
            self.store.row(step, row)
        self._measuring.write_held(everything=wait)
        if self._store is not None:
            self._store.line("cost", share=cost, seconds=seconds, steps=self.step)
            self._store.flush()
