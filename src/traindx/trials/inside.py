"""A trial inside the training process: seeds, treatments, recorder and yardstick, started when torch is imported there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traindx.live import recorder
from traindx.live.hub import Hub
from traindx.trials import guard, seeds
from traindx.trials.setting import parse_all
from traindx.trials.treatment import build
from traindx.trials.yardstick import Reference, Yardstick


def start(
    folder: Path, budget: float, steps: int | None, settings: Sequence[str], seed: int, seconds: float | None,
    closed: Sequence[str], allowed: Sequence[str], reference: Reference | None = None,
) -> Hub:  # fmt: skip
    """What the launcher asks for in a process that may become the training."""
    guard.protect(closed, allowed)
    seeds.settle(seed)
    return record(folder, budget, steps, settings, seconds, reference)


def record(
    folder: Path, budget: float, steps: int | None, settings: Sequence[str], seconds: float | None = None,
    reference: Reference | None = None,
) -> Hub:  # fmt: skip
    """Record a training under these settings; the end of the recording takes them back."""
    treatments = [build(setting) for setting in parse_all(settings)]
    for treatment in treatments:
        treatment.before_recorder()
    hub = recorder.start(folder, budget, steps)
    hub.add(Yardstick(hub, folder, treatments, seconds, reference))
    for treatment in treatments:
        treatment.hub = hub
        treatment.attach()
        for hook in treatment.hooks:
            hub.patches.add(hook.remove)
    return hub
