"""Probing inside the user's process: started when torch is imported there, ends the script when the probes are done."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from traindx.live.events.hub import Hub
from traindx.live.host import recorder
from traindx.live.recording.adding import entries
from traindx.probes.capture import Capture
from traindx.probes.runner import chosen, run_probes
from traindx.probes.subject import Subject


def start(
    folder: Path, probes: list[str] | None = None, at_step: int = 0, seconds: float | None = None, budget: float = 0.5
) -> Hub:
    """What the launcher asks for in a process that may become the training."""
    then = partial(_probe, names=probes, seconds=seconds)
    hub = recorder.start(folder, budget)
    # ranks must make the same number of updates, so that none waits for another that has ended
    alone = int(os.environ.get("WORLD_SIZE", "1") or 1) == 1
    wanted = set(probes or ("speed", "sanity"))
    capture = Capture(hub, at_step, then, pace=alone and "speed" in wanted, evaluation=alone and "sanity" in wanted)
    hub.add(capture.lingering)
    hub.add(capture)
    return hub


def _probe(subjects: list[Subject], hub: Hub, names: list[str] | None, seconds: float | None) -> None:
    hub.cut_short = True
    hub.stop_after = hub.step + 1
    if int(os.environ.get("RANK", "0") or 0) == 0:
        hub.write(wait=True)
        for reading in run_probes(subjects, chosen(names), seconds):
            for kind, entry in entries(reading):
                hub.store.line(kind, **entry)
            hub.write()
