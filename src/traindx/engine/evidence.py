"""Evidence: what the ranking is made from, as one value that can be asked 'and if this were different?'."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from traindx.diagnosis import ANSWERS, Observation
from traindx.engine.context import Hint, hints
from traindx.engine.fitted import health_without_outcome
from traindx.engine.observe import observe
from traindx.engine.priors import ANY, kind_of
from traindx.engine.rank import Ranked, rank
from traindx.engine.ways import ANSWERED
from traindx.measurements import TokenCounts
from traindx.signals import Signals
from traindx.symptoms import symptoms
from traindx.symptoms.base import Symptom

OUTCOME = "outcome-poor"  # the symptom that judges what a script measures of its own answers


@dataclass(frozen=True)
class Evidence:
    """All observations of one run and what settings and timing say."""

    observations: tuple[Observation, ...] = ()
    hints: tuple[Hint, ...] = ()
    unfamiliar: bool = False
    training: str = ANY  # its kind, by which causes are more or less common
    healthy_at_most: float = 1.0  # where what the training is for was not measured
    measured: bool = True  # False: nobody looked, there are only answers to questions

    def ranked(self) -> list[Ranked]:
        # unknown says nothing and costs time
        known = [observation for observation in self.observations if observation.state != "unknown"]
        return rank(
            known, self.hints, unfamiliar=self.unfamiliar, training=self.training, healthy_at_most=self.healthy_at_most,
            leaning=self.measured,
        )  # fmt: skip

    def probabilities(self) -> dict[str, float]:
        return {entry.cause: entry.probability for entry in self.ranked()}

    def given(self, observations: Iterable[Observation], more: Iterable[Hint] = ()) -> Evidence:
        """The same with these observations instead of those of the same id, and with these hints besides."""
        new = {observation.id: observation for observation in observations}
        kept = tuple(new.pop(old.id, old) for old in self.observations)
        return replace(self, observations=kept + tuple(new.values()), hints=self.hints + tuple(more))

    def without_hint(self, place: int) -> Evidence:
        return replace(self, hints=self.hints[:place] + self.hints[place + 1 :])


def gather(signals: Signals, reported: Sequence[Observation] = (), hinted: Sequence[Hint] = ()) -> Evidence:
    """Everything known of a run. What somebody tells fills in where nothing could be measured, and never overrules a
    measurement."""
    return merge_evidence(signals, measure(signals), reported, hinted)


def measure(signals: Signals) -> tuple[Observation, ...]:
    """What the run itself shows; of a run nobody measured nothing is known, not even that it was short, but for the
    settings that somebody reported."""
    if signals.run.format != ANSWERS:
        return observe(signals)
    return tuple(
        (_of_settings(symptom, signals) if signals.run.config else None)
        or Observation(symptom.id, "unknown", "Nothing was measured.")
        for symptom in symptoms().values()
    )


def _of_settings(symptom: Symptom, signals: Signals) -> Observation | None:
    """What the settings alone tell."""
    if symptom.kind != "setting":
        return None
    found = symptom.detect(signals)
    return None if found.state == "unknown" else replace(found, clarity=min(found.clarity, ANSWERED))


def merge_evidence(
    signals: Signals, measured: Sequence[Observation], reported: Sequence[Observation], hinted: Sequence[Hint]
) -> Evidence:
    """The same with the measurements at hand."""
    by_id = {observation.id: observation for observation in reported}
    seen = tuple(by_id.get(o.id, o) if o.state == "unknown" else o for o in measured)
    at_most = health_without_outcome() if without_outcome(signals, seen) else 1.0
    hinted = (*hints(signals, seen), *hinted)
    looked_at = signals.run.format != ANSWERS
    return Evidence(seen, hinted, signals.kind != "supervised", kind_of(signals), at_most, looked_at)


def without_outcome(signals: Signals, observations: Sequence[Observation]) -> bool:
    """A language model was recorded, and nobody measured whether what it writes is right: its losses are those of the
    tokens that were chosen to count."""
    outcome = next((one for one in observations if one.id == OUTCOME), None)
    writes = any(one.all(TokenCounts) for one in signals.run.measured)
    return writes and signals.kind == "supervised" and (outcome is None or outcome.state == "unknown")


def entropy(probabilities: Iterable[float]) -> float:
    """How undecided a distribution is, in bits."""
    return -sum(p * math.log2(p) for p in probabilities if p > 0)
