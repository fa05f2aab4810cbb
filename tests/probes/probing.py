"""Run one probe on a model given in a test."""

from __future__ import annotations

from torch import nn

from traindx.probes.base import Deadline, Probe
from traindx.probes.given import subject_of
from traindx.reading import Reading
from traindx.run import Fact


def read(probe: Probe, model: nn.Module, batches: object, loss: object) -> Reading:
    subject = subject_of(model, batches, loss)
    with subject.undisturbed():
        return probe.measure(subject, Deadline(20))


def facts(reading: Reading) -> dict[str, Fact]:
    return {fact.id: fact for fact in reading.facts}
