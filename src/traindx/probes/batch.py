"""Ends a script as soon as its first batches were looked at as the loss sees them. Nothing is trained for it: what it
learnt on the way is gone with its process, and most scripts end before their second look at any sample."""

from __future__ import annotations

import time
from pathlib import Path

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_every_step
from traindx.live.host import recorder

PASSES = 12  # backward passes: micro-batches of one sample are enough for a rule about samples
SECONDS = 8.0  # after the first of them, where they take long


class FirstBatches(Observer):
    """Ends the script before the backward pass of the last batch that is looked at."""

    def __init__(self, hub: Hub, passes: int = PASSES, seconds: float = SECONDS) -> None:
        super().__init__(hub)
        self._passes, self._seconds = passes, seconds
        self._seen = 0
        self._began = 0.0

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        now = time.monotonic()
        self._began = self._began or now
        self._seen += 1
        if self._seen >= self._passes or now - self._began > self._seconds:
            self.hub.cut_short = True
            self.hub.write(wait=True)
            raise SystemExit(0)


def start(folder: Path, budget: float = 0.5, private: bool = False) -> Hub:
    """What the launcher asks for in a process that may become the training."""
    hub = recorder.start(folder, budget, private=private)
    hub.add(FirstBatches(hub))
    return hub
