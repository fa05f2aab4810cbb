"""Probing inside the user's process: started when torch is imported there, ends the script when the probes are done."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from traindx.live import recorder
from traindx.live.hub import Hub
from traindx.probes.capture import Capture
from traindx.probes.runner import TOTAL_SECONDS, chosen, run_probes
from traindx.probes.subject import Subject
from traindx.reading import Reading


def start(
    folder: Path, probes: list[str] | None = None, at_step: int = 0, seconds: float = TOTAL_SECONDS, budget: float = 0.5
) -> Hub:
    """What the launcher asks for in a process that may become the training."""
    then = partial(_probe, names=probes, seconds=seconds)
    hub = recorder.start(folder, budget)
    hub.add(Capture(hub, at_step, then))
    return hub


def _probe(subjects: list[Subject], hub: Hub, names: list[str] | None, seconds: float) -> None:
    hub.cut_short = True
    hub.stop_after = hub.step + 1
    if int(os.environ.get("RANK", "0") or 0) == 0:
        hub.write(wait=True)
        for reading in run_probes(subjects, chosen(names), seconds):
            record(hub, reading)
            hub.write()


def record(hub: Hub, reading: Reading) -> None:
    """Put a reading into the recording: facts and values as an observer's, and the whole of it for whoever shows it."""
    store = hub.store
    for fact in reading.facts:
        store.line(
            "fact", id=fact.id, present=fact.present, evidence=fact.evidence, where=fact.where, step=fact.step,
            clarity=fact.clarity, probe=reading.probe,
        )  # fmt: skip
    if reading.config:
        store.line("config", **reading.config, probe=reading.probe)
    if reading.values:
        row = [reading.step, *reading.values.values()]
        store.line("rows", names=list(reading.values), rows=[row], probe=reading.probe)
    store.line("probe", reading=reading.to_json())
