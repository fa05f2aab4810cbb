"""A trial inside the training process: seeds, treatments, recorder and yardstick, started when torch is imported
there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from traindx.live.events.hub import Hub
from traindx.live.host import recorder
from traindx.live.recording.states import Keeper
from traindx.probes.script import start as probe
from traindx.trials import guard, seeds
from traindx.trials.rewind import Rewind
from traindx.trials.setting import parse_all
from traindx.trials.treatment import build
from traindx.trials.yardstick import Reference, Yardstick


def start(
    folder: Path, budget: float, steps: int | None, settings: Sequence[str], seed: int, seconds: float | None,
    closed: Sequence[str], allowed: Sequence[str], reference: Reference | None = None,
    keep: tuple[int, str] | None = None,
    state: str | None = None, probes: float | None = None,
) -> None:  # fmt: skip
    """What the launcher asks for in a process that may become the training. `keep`: after which update to keep its
    state, and where; `state`: one that was kept, to begin with; `probes`: measure the model for so many seconds instead
    of training it."""
    guard.protect(closed, allowed)
    if probes is not None:
        seeds.settle(seed)
        probe(folder, seconds=probes)
        return
    begin = partial(record, folder, budget, steps, settings, seconds, reference)
    if state is not None:
        seeds.settle(0)
        Rewind(Path(state), seed, lambda aligned: begin(aligned=aligned))
        return
    seeds.settle(seed)
    hub = begin()
    if keep is not None:
        hub.add(Keeper(hub, keep[0], Path(keep[1])))


def record(
    folder: Path, budget: float, steps: int | None, settings: Sequence[str], seconds: float | None = None,
    reference: Reference | None = None, aligned: bool = True,
) -> Hub:  # fmt: skip
    """Record a training under these settings; the end of the recording takes them back."""
    treatments = [build(setting) for setting in parse_all(settings)]
    for treatment in treatments:
        treatment.before_recorder()
    hub = recorder.start(folder, budget, steps)
    hub.keeps_batches = False  # the copy that an arm runs in is gone afterwards
    hub.add(Yardstick(hub, folder, treatments, seconds, reference, aligned))
    for treatment in treatments:
        treatment.hub = hub
        treatment.attach()
        for hook in treatment.hooks:
            hub.patches.add(hook.remove)
    return hub
