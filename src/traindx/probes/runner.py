"""Runs probes on subjects, one after the other, each on the untouched state; what fails becomes an unknown."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from traindx.probes.base import Deadline, Probe
from traindx.probes.kinds import probes
from traindx.probes.subject import Subject
from traindx.reading import Reading

TOTAL_SECONDS = 42.0  # for all probes of one script: with its start and a few more updates less than a minute


def chosen(names: Sequence[str] | None) -> list[Probe]:
    """The probes of these names; all of them where none is named."""
    known = probes()
    return [known[name] for name in names] if names else list(known.values())


def run_probes(subjects: Sequence[Subject], wanted: Sequence[Probe], seconds: float | None = None) -> Iterator[Reading]:
    """The readings, as they come. Each probe has its own time, more where it is the only one; all of them `seconds`
    where those are given."""
    own = (
        [probe.alone or probe.seconds for probe in wanted] if len(wanted) == 1 else [probe.seconds for probe in wanted]
    )
    scale = 1.0 if seconds is None else seconds / sum(own)
    overall = Deadline(seconds or max(TOTAL_SECONDS, *own))
    for subject in subjects:
        for probe, share in zip(wanted, own, strict=True):
            yield run_probe(subject, probe, min(share * scale, overall.left))


def run_probe(subject: Subject, probe: Probe, seconds: float) -> Reading:
    reason = _unfit(subject, probe) or ("the time for probes was used up before its turn." if seconds < 0.5 else None)
    if reason is not None:
        return Reading(probe.id, f"not measured: {reason}", unknown=(reason,), step=subject.step)
    began = time.monotonic()
    try:
        with subject.undisturbed():
            reading = probe.measure(subject, Deadline(seconds))
    except Exception as error:
        if os.environ.get("TRAINDX_DEBUG"):
            raise
        sentence = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else 'no message'}"
        reading = Reading(probe.id, f"not measured: {sentence}", unknown=(f"It ended in an error ({sentence}).",))
    stamped = tuple(replace(fact, step=float(subject.step), probe=probe.id) for fact in reading.facts)
    measured = tuple(msgspec.structs.replace(one, step=subject.step) for one in reading.measured)
    seconds = time.monotonic() - began
    return replace(reading, facts=stamped, measured=measured, step=subject.step, seconds=seconds)


def _unfit(subject: Subject, probe: Probe) -> str | None:
    if "loss" in probe.needs and not subject.steps:
        why = f" ({'; '.join(subject.notes[:2])})" if subject.notes else ""
        return f"the loss of no training step could be computed again{why}."
    if "optimizer" in probe.needs and subject.optimizer is None:
        return "no optimiser was given."
    if probe.whole and subject.partial:
        return "several optimisers train against each other here; it would measure half of the game."
    return None
