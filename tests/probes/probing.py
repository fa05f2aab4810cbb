"""Run one probe on a model given in a test, or capture what a test trains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import nn

from traindx.live.host.recorder import open_hub
from traindx.probes.base import Deadline, Probe
from traindx.probes.capture import Capture
from traindx.probes.given import subject_of
from traindx.probes.subject import Subject
from traindx.reading import Reading
from traindx.run import Fact
from traindx.symptoms.observed import stated


def read(probe: Probe, model: nn.Module, batches: object, loss: object) -> Reading:
    subject = subject_of(model, batches, loss)
    with subject.undisturbed():
        return probe.measure(subject, Deadline(20))


def facts(reading: Reading) -> dict[str, Fact]:
    return {fact.id: fact for fact in stated(reading)}


def captured(train: Callable[[], object], folder: Path, at_step: int = 0, **options: bool) -> list[Subject]:
    """The subjects that are found while this function trains."""
    found: list[Subject] = []
    hub = open_hub(folder, 0.5, None)
    hub.attach()
    capture = Capture(hub, at_step, lambda subjects, hub: found.extend(subjects), **options)
    hub.add(capture.lingering)
    hub.add(capture)
    try:
        train()
    finally:
        hub.detach()
    return found
