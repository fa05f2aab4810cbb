"""Next best evidence: of everything that could still be looked at, asked or tried, what would settle most for its cost.

How much a source would settle is the expected drop of the entropy of the ranking: suppose each contender in turn is
true, let the source show what that contender usually shows, rank again, and weigh the result by how probable the
contender is. A cheap bound picks the few sources that are worth this."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from traindx.diagnosis import Observation
from traindx.engine.context import Hint
from traindx.engine.evidence import Evidence, entropy
from traindx.engine.rank import HEALTHY, OTHER, expectation
from traindx.engine.ways import TRIAL, TRIAL_HELPS, WAYS, Way
from traindx.symptoms import symptoms
from traindx.symptoms.base import Symptom

CONTENDERS = 6  # explanations that are supposed true in turn
SHORTLIST = 3  # sources that are simulated
SHOWS = 0.5  # a cause shows a symptom if it does so in most runs
SUBSTANTIAL = 0.25  # of the most informative source's bits: less is not worth naming, however cheap


@dataclass(frozen=True)
class Outcome:
    """One way a source may turn out: what would then be observed and hinted, and how probable that is under each
    cause."""

    observations: tuple[Observation, ...]
    hints: tuple[Hint, ...]
    probability: float


@dataclass(frozen=True)
class Gain:
    """What a source is expected to settle. `decides`: the contenders it tells apart, likeliest first."""

    way: Way
    bits: float
    decides: tuple[str, ...]

    @property
    def per_minute(self) -> float:
        return 60 * self.bits / self.way.cost


def expected_information(evidence: Evidence, outcomes: Sequence[Outcome], now: float | None = None) -> float:
    """Expected drop of entropy in bits over the outcomes, whose probabilities are normalised here."""
    total = sum(outcome.probability for outcome in outcomes)
    if total <= 0:
        return 0.0
    before = entropy(evidence.probabilities().values()) if now is None else now
    after = sum(
        outcome.probability
        / total
        * entropy(evidence.given(outcome.observations, outcome.hints).probabilities().values())
        for outcome in outcomes
        if outcome.probability > 0
    )
    return before - after


def bound(probabilities: Mapping[str, float], likelihoods: Sequence[Mapping[str, float]]) -> float:
    """Mutual information in bits between the cause and an outcome, each outcome given by its likelihood under every
    cause: what a source could tell at most if nothing that is known already said the same."""
    bits = 0.0
    for likelihood in likelihoods:
        marginal = sum(p * likelihood[cause] for cause, p in probabilities.items())
        if marginal <= 0:
            continue
        bits += sum(
            p * likelihood[cause] * math.log2(likelihood[cause] / marginal)
            for cause, p in probabilities.items()
            if p > 0 and likelihood[cause] > 0
        )
    return bits


def gains(evidence: Evidence, used: Collection[str] = (), *, simulate: bool = True) -> list[Gain]:
    """Every source that would settle something, best first by information per cost. `used` are ids of ways that this
    run has gone already or cannot go; without `simulate` the order rests on the cheap bound alone."""
    probabilities = evidence.probabilities()
    now = entropy(probabilities.values())
    contenders = sorted(probabilities, key=lambda cause: -probabilities[cause])[:CONTENDERS]
    unknown = [symptoms()[o.id] for o in evidence.observations if o.state == "unknown" and o.id in symptoms()]
    rough: list[Gain] = []
    shown: dict[str, list[Symptom]] = {}
    for way in WAYS:
        seen = [symptom for symptom in unknown if way.shows(symptom)] if way.id not in used else []
        if seen:
            bits, decides = _roughly(probabilities, contenders, seen, now)
            rough.append(Gain(way, bits, decides))
            shown[way.id] = seen
    rough.sort(key=lambda gain: -gain.per_minute)
    if not simulate:
        return [gain for gain in rough if gain.bits > 0]
    best = max((gain.bits for gain in rough), default=0.0)
    worth = [gain for gain in rough if gain.bits >= SUBSTANTIAL * best][:SHORTLIST]
    exact = [
        Gain(gain.way, _simulated(evidence, probabilities, contenders, shown[gain.way.id], gain.way, now), gain.decides)
        for gain in worth
    ]
    if TRIAL.id not in used:
        exact += _trial(probabilities)
    best = max((gain.bits for gain in exact), default=0.0)
    exact.sort(key=lambda gain: (gain.bits < SUBSTANTIAL * best, -gain.per_minute))
    return [gain for gain in exact if gain.bits > 0] + [gain for gain in rough if gain not in worth and gain.bits > 0]


def _roughly(
    probabilities: Mapping[str, float], contenders: Sequence[str], seen: Sequence[Symptom], now: float
) -> tuple[float, tuple[str, ...]]:
    """The bound for a bundle: its symptoms' bounds together, and never more than there is to know."""
    bits = 0.0
    named: dict[str, float] = dict.fromkeys(contenders, 0.0)
    for symptom in seen:
        chances = {cause: expectation(cause, symptom) for cause in probabilities}
        bits += bound(probabilities, [chances, {cause: 1 - chance for cause, chance in chances.items()}])
        for cause in contenders:
            named[cause] += abs(chances[cause] - symptom.background)
    decides = [cause for cause in contenders if named[cause] > SUBSTANTIAL and cause not in (HEALTHY, OTHER)]
    return min(now, bits), tuple(decides[:4])


def _simulated(
    evidence: Evidence,
    probabilities: Mapping[str, float],
    contenders: Sequence[str],
    seen: Sequence[Symptom],
    way: Way,
    now: float,
) -> float:
    outcomes = [
        Outcome(tuple(_shown(cause, symptom, way.clarity) for symptom in seen), (), probabilities[cause])
        for cause in contenders
    ]
    return expected_information(evidence, outcomes, now)


def _shown(cause: str, symptom: Symptom, clarity: float) -> Observation:
    state = "present" if expectation(cause, symptom) >= SHOWS else "absent"
    return Observation(symptom.id, state, "supposed", clarity=clarity)  # type: ignore[arg-type]


def _trial(probabilities: Mapping[str, float]) -> list[Gain]:
    """Trying the fix of the likeliest cause: it helps or it does not, which is a symptom of that cause alone."""
    top = max((c for c in probabilities if c not in (HEALTHY, OTHER)), key=lambda cause: probabilities[cause])
    helps = {cause: TRIAL_HELPS[cause == top] for cause in probabilities}
    bits = bound(probabilities, [helps, {cause: 1 - chance for cause, chance in helps.items()}])
    named = Way(TRIAL.id, TRIAL.kind, TRIAL.evidence.format(cause=top), TRIAL.command, TRIAL.person, TRIAL.machine)
    return [Gain(named, bits, (top,))] if bits > 0 else []
