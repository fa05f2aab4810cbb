"""Starts in the training process of a case: seeds, then the recorder as `traindx run` starts it, with the yardstick of
trials beside it.

Alone in its directory, which goes on PYTHONPATH: no other module of the benchmark may be in the way of one of the
program's own."""

from __future__ import annotations

from pathlib import Path

BUDGET = 0.01  # as `traindx run`


def start(folder: Path, seed: int) -> None:
    from traindx.live.host import recorder
    from traindx.trials import seeds
    from traindx.trials.yardstick import Yardstick

    seeds.settle(seed)
    hub = recorder.start(folder, BUDGET)
    hub.add(Yardstick(hub, folder))
