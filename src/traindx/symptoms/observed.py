"""Symptoms that are judged on what a recording measured inside the training, or on what a probe or a checkpoint states
directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from traindx.diagnosis import Observation, State
from traindx.measurements import Measured, Measurement
from traindx.reading import Reading
from traindx.run import Fact, Run
from traindx.signals import Signals
from traindx.signals.inside import learned, left_over, objective
from traindx.symptoms.base import Case, percent

DOUBTED = 0.25  # clarity of what was seen and may do no harm
OVERCOME = 0.1  # of the first loss left: whatever hinders learning has not hindered this one
Judge = Callable[[Measured], Observation | None]


@dataclass(frozen=True)
class FromMeasurements:
    """A detector that judges what a recording measured. `judge` sees one rank and gives None where nothing was measured
    that it needs; `otherwise` is asked where no rank was measured and no probe looked. A probe saw one moment: what it
    measured is judged by `of_probe`, by `judge` itself where it is of the same kinds."""

    id: str
    judge: Judge
    otherwise: Callable[[Signals], Observation] | None = None
    excuse: Callable[[Signals], str] | None = None  # why it does no harm here; '' where it may
    doubt: Callable[[Signals], str] | None = None  # why it may do none; '' where nothing speaks for that
    of_probe: Judge | None = None

    def __call__(self, signals: Signals) -> Observation:
        fact = self.stated(signals.run)
        found = self.judged(signals)
        if found is None or (fact is not None and fact.present and found.state != "present"):
            return _observed(self.id, self.otherwise, signals, fact)
        excused = self.excuse(signals) if self.excuse is not None and found.state == "present" else ""
        if excused:
            return replace(found, state="absent", evidence=f"{found.evidence} {excused}")
        doubted = self.doubt(signals) if self.doubt is not None and found.state == "present" else ""
        if doubted:
            return replace(found, evidence=f"{found.evidence} {doubted}", clarity=min(found.clarity, DOUBTED))
        return found

    def stated(self, run: Run) -> Fact | None:
        """What probes and checkpoints say: the clearest that shows the symptom counts, else the last that looked."""
        found = run.facts.get(self.id)
        for measured in run.probed:
            here = self.probed(measured)
            if here is not None and (
                found is None or not found.present or (here.present and here.clarity > found.clarity)
            ):
                found = here
        return found

    def probed(self, measured: Measured) -> Fact | None:
        """What one probe says."""
        found = _judged(self.id, self.of_probe or self.judge, measured)
        if found is None or found.state == "unknown":
            return None
        step = None if found.steps is None else found.steps[0]
        return Fact(
            self.id, found.state == "present", found.evidence, found.where, step, found.clarity, measured.probe
        )  # fmt: skip

    def judged(self, signals: Signals) -> Observation | None:
        """What the ranks measured: the first that shows the symptom counts, else the first that was measured."""
        found: Observation | None = None
        for measured in signals.run.measured:
            here = _judged(self.id, self.judge, measured)
            if here is None or (found is not None and here.state != "present"):
                continue
            if measured.rank != signals.run.measured[0].rank:
                here = replace(here, evidence=f"On rank {measured.rank}: {here.evidence}")
            if here.state == "present":
                return here
            found = here
        return found


def _judged(identifier: str, judge: Judge, measured: Measured) -> Observation | None:
    try:
        return judge(measured)
    except (ArithmeticError, ValueError, LookupError, TypeError):  # lists of different lengths, a count below 0
        return Observation(identifier, "unknown", "What was recorded of it contradicts itself.")


def from_measurements(
    identifier: str,
    judge: Judge,
    otherwise: Callable[[Signals], Observation] | None = None,
    excuse: Callable[[Signals], str] | None = None,
    doubt: Callable[[Signals], str] | None = None,
    of_probe: Judge | None = None,
) -> FromMeasurements:
    return FromMeasurements(identifier, judge, otherwise, excuse, doubt, of_probe)


def stated(reading: Reading) -> tuple[Fact, ...]:
    """What a reading says of symptoms: the facts it states, and what follows from its measurements."""
    from traindx.symptoms import symptoms

    measured = Measured(reading.measured, probe=reading.probe)
    detectors = (one.detect for one in symptoms().values()) if measured else ()
    found = (one.probed(measured) for one in detectors if isinstance(one, FromMeasurements))
    return (*reading.facts, *filter(None, found))


def overcome(signals: Signals) -> str:
    """Why what only hinders learning (a start, a scale) may have done no harm: the loss is gone all the same."""
    curve = objective(signals)
    if curve is None or curve.sign < 0 or not learned(curve) or left_over(curve) > OVERCOME:
        return ""
    return f"Yet {curve.name} lost {percent(1 - left_over(curve))} of its first value."


def state_of(signals: Signals, identifier: str) -> State:
    """What a look inside the training says of another symptom."""
    from traindx.symptoms import symptoms

    return symptoms()[identifier].detect(signals).state if signals.run.seen_inside else "unknown"


def seen(
    identifier: str,
    present: bool,
    evidence: str,
    *,
    at: Measurement | None = None,
    where: str | None = None,
    clarity: float = 1.0,
) -> Observation:
    """What a judge gives: the symptom is there or not, at the step (and the place) of a measurement."""
    steps = None if at is None else (float(at.step), float(at.step))
    place = where or (at.where if at is not None else "") or None
    return Observation(identifier, "present" if present else "absent", evidence, steps, place, clarity)


def from_fact(
    identifier: str, otherwise: Callable[[Signals], Observation] | None = None
) -> Callable[[Signals], Observation]:
    """A detector that reports the recorded fact of this name; without one it asks `otherwise`, else it is unknown."""
    return partial(_stated, identifier, otherwise)


def _stated(identifier: str, otherwise: Callable[[Signals], Observation] | None, signals: Signals) -> Observation:
    return _observed(identifier, otherwise, signals, signals.run.facts.get(identifier))


def _observed(
    identifier: str, otherwise: Callable[[Signals], Observation] | None, signals: Signals, fact: Fact | None
) -> Observation:
    if fact is None:
        if otherwise is not None:
            return otherwise(signals)
        return Observation(identifier, "unknown", "Only a recording of the training from the inside shows this.")
    if fact.probe is not None and otherwise is not None:
        # a probe saw one moment: curves tell of the others, and whether the training worked all the same
        curve = otherwise(signals)
        if learned(objective(signals)) if fact.present else curve.state == "present":
            return curve
    place = None if fact.step is None else (fact.step, fact.step)
    return Observation(
        identifier, "present" if fact.present else "absent", fact.evidence, place, fact.where, fact.clarity
    )


@dataclass(frozen=True)
class FromProbe(FromMeasurements):
    """A detector of what only a probe shows, which a training that worked all the same excuses."""

    def __call__(self, signals: Signals) -> Observation:
        fact = self.stated(signals.run)
        if fact is None:
            # that the training worked does not say so: it is what was not measured, and counts of it would teach the
            # ranking
            return Observation(self.id, "unknown", "Only a probe of the model shows this (traindx probe).")
        if fact.probe is None and learned(objective(signals)):
            return _excused(self.id, signals)  # a recording saw it in the untrained model
        return _observed(self.id, partial(_excused, self.id), signals, fact)


def from_probe(identifier: str, judge: Judge = lambda measured: None) -> FromProbe:
    return FromProbe(identifier, judge)


def _excused(identifier: str, signals: Signals) -> Observation:
    return Observation(identifier, "absent", "The training loss came down by half all the same.")


def cases_of(identifier: str, seen: str, not_seen: str) -> tuple[Case, ...]:
    """The three cases of a symptom that only a recording shows: seen, looked for and not seen, never looked for."""
    return (
        Case("a recording saw it", "present", facts=(Fact(identifier, True, seen, "train.py:42", 3.0),)),
        Case("a recording looked for it", "absent", facts=(Fact(identifier, False, not_seen, step=3.0),)),
        Case("a log alone", "unknown"),
    )
