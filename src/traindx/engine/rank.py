"""From observations to ranked, exclusive explanations.

A naive Bayes model with three amendments, each because the plain one is overconfident: symptoms of one family speak
once, the log likelihood is tempered, and how clear an observation is scales what it says. `healthy` and `other` compete
like any cause. How often a cause shows a symptom is its page's word and what the fault zoo counted (engine/fitted.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from traindx.causes import causes
from traindx.causes.base import Cause
from traindx.diagnosis import Observation
from traindx.engine import words
from traindx.engine.context import Hint
from traindx.engine.fitted import CURVE, INSIDE, Level, level_of, levels
from traindx.engine.health import of_logs, plainest
from traindx.engine.priors import ANY, of_labelled_logs, problem_of, share
from traindx.symptoms import symptoms
from traindx.symptoms.base import Symptom

HEALTHY = "healthy"
OTHER = "other"
SURE = 0.75  # of a cause named on a log: above this lies the bin that its ceiling was counted in
BELOW_CEILING = 0.15  # where the ceiling itself is lower
BRIEF, IMPROVING = "too-short", "still-improving"
Expectation = Callable[[Symptom], float | None]  # P(present) under an explanation; None: it says nothing about it
SEEN_BY = ("always", "usually")
TELLING = 0.25  # log odds below which a symptom is not worth a line


@dataclass
class Ranked:
    """One explanation: its probability and what spoke for and against it, strongest first."""

    cause: str
    probability: float = 0.0
    log_weight: float = 0.0
    supports: list[tuple[float, str]] = field(default_factory=list)
    contradicts: list[tuple[float, str]] = field(default_factory=list)


def rank(
    observations: Sequence[Observation],
    hints: Sequence[Hint] = (),
    *,
    unfamiliar: bool = False,
    level: Level | None = None,
    training: str = ANY,
    on_logs: bool = True,
    healthy_at_most: float = 1.0,
    leaning: bool = True,
) -> list[Ranked]:
    """All explanations, most probable first; probabilities sum to one. `unfamiliar`: a kind of training the causes were
    not written for, so that 'other' weighs more. `level`: other numbers than the fitted ones of this level of
    evidence. `training`: its kind, by which causes are more or less common. `on_logs`: where the evidence is a log,
    health as real logs calibrated it. `healthy_at_most`: what is said for sure of health, whatever was ruled out.
    `leaning`: whether causes of a log lean to what labelled ones turned out to be; answers to questions do not."""
    at = level_of(observations)
    of_a_log = level is None and on_logs and at == CURVE
    level = levels()[at] if level is None else level
    known = symptoms()
    table = causes()
    faults = {identifier: cause for identifier, cause in table.items() if identifier != HEALTHY}
    measured = {observation.id for observation in observations if observation.state != "unknown"}
    placed = {i for i, cause in faults.items() if not cause.only_with or measured.intersection(cause.only_with)}
    prior = {identifier: words.PRIOR_WEIGHT[c.prior] * share(training, c.group) for identifier, c in faults.items()}
    total = sum(prior[identifier] for identifier in placed) or 1.0
    other = words.PRIOR_OTHER * (4 if unfamiliar else 1)
    mass = 1 - words.PRIOR_HEALTHY - other
    silence = level.silence * quiet(observations)
    ranked: list[Ranked] = []
    seen_itself: set[str] = set()
    for identifier, cause in faults.items():
        proven = _proven(cause, observations, known, words.PROVES)
        mild = proven or _proven(cause, observations, known, words.SAID_SO)
        seen_itself |= {identifier} if mild else set()
        entry = _weigh(Ranked(identifier), observations, known, partial(_expected, level, cause, proven), mild)
        entry.log_weight += math.log(mass * prior[identifier] / total)
        entry.log_weight += silence + (0.0 if identifier in placed else words.ELSEWHERE)
        ranked.append(entry)
    healthy = table.get(HEALTHY)
    entry = _weigh(Ranked(HEALTHY), observations, known, partial(_expected_healthy, level, healthy))
    entry.log_weight += math.log(words.PRIOR_HEALTHY) + level.healthy
    ranked.append(entry)
    entry = _weigh(Ranked(OTHER), observations, known, _expected_other)
    entry.log_weight += math.log(other) + silence
    ranked.append(entry)
    by_id = {entry.cause: entry for entry in ranked}
    for hint in hints:
        if hint.cause in by_id:
            target = by_id[hint.cause]
            against_a_fact = hint.log_odds < 0 and hint.cause in seen_itself and not hint.of_outcome
            log_odds = hint.log_odds * (words.MILD if against_a_fact else 1.0)
            target.log_weight += log_odds
            (target.supports if log_odds > 0 else target.contradicts).append((abs(log_odds), hint.sentence))
    if at == INSIDE:
        _facts_first(ranked, seen_itself)
    _normalise(ranked, level, seen_itself if at == INSIDE else None)
    if of_a_log:
        _as_in_real_logs(ranked, observations, known, training if leaning else None)
    elif level.health is not None:
        _set_health(ranked, level.health.probability(_healthy(ranked).probability))
    _bound(ranked, HEALTHY, healthy_at_most)
    for entry in ranked:
        entry.supports.sort(key=lambda pair: -pair[0])
        entry.contradicts.sort(key=lambda pair: -pair[0])
    return sorted(ranked, key=lambda entry: -entry.probability)


def seen_itself(cause: str, observations: Sequence[Observation]) -> bool:
    """Whether a recording saw the cause itself, or somebody reported it."""
    return _proven(causes()[cause], observations, symptoms(), words.SAID_SO)


def _facts_first(ranked: Sequence[Ranked], seen_itself: Collection[str]) -> None:
    """A cause that was seen itself goes before one that is inferred from much the same evidence: they change places
    where little lies between them."""
    faults = [entry for entry in ranked if entry.cause not in (HEALTHY, OTHER)]
    first = max(faults, key=lambda entry: entry.log_weight)
    fact = max((one for one in faults if one.cause in seen_itself), key=lambda one: one.log_weight, default=first)
    if first.cause not in seen_itself and first.log_weight - fact.log_weight < words.FACT_AHEAD:
        first.log_weight, fact.log_weight = fact.log_weight, first.log_weight


def _as_in_real_logs(
    ranked: Sequence[Ranked], observations: Sequence[Observation], known: Mapping[str, Symptom], training: str | None
) -> None:
    """Health as calibrated on labelled logs, where enough was looked at; causes lean to what such logs turned out to
    be."""
    healthy = _healthy(ranked)
    if healthy.probability >= 1:
        return
    failed = any(o.conclusive for o in observations if o.state == "present")
    reported = of_logs().probability(healthy.probability, plainest(observations, known), failed)
    improves = any(o.id == IMPROVING and o.state == "present" for o in observations)
    # silence is no health where hardly anything could be looked at, unless that which could gets better to the end
    if _looked(observations, known) < 1 and not improves:
        reported = min(reported, healthy.probability)
    rest = [entry for entry in ranked if entry is not healthy]
    if training is not None:
        _lean(rest, observations, known, training)
    total = sum(entry.probability for entry in rest)
    for entry in rest:
        entry.probability *= (1 - reported) / total
    healthy.probability = reported
    brief = any(o.id == BRIEF and o.state == "present" for o in observations)
    _hold(ranked, of_labelled_logs().brief if brief else of_labelled_logs().ceiling)


def _hold(ranked: Sequence[Ranked], ceiling: float) -> None:
    """What the likeliest cause has above SURE comes to no more than the ceiling, so that further evidence still
    moves it."""
    first = max(ranked, key=lambda entry: entry.probability)
    start = min(SURE, ceiling - BELOW_CEILING)
    if first.cause in (HEALTHY, OTHER) or first.probability <= start:
        return
    spare = (first.probability - start) * (1 - (ceiling - start) / (1 - start))
    first.probability -= spare
    next(entry for entry in ranked if entry.cause == OTHER).probability += spare


def _healthy(ranked: Sequence[Ranked]) -> Ranked:
    return next(entry for entry in ranked if entry.cause == HEALTHY)


def _set_health(ranked: Sequence[Ranked], probability: float) -> None:
    """The others keep their proportions."""
    healthy = _healthy(ranked)
    if healthy.probability >= 1:
        return
    rest = (1 - probability) / (1 - healthy.probability)
    for entry in ranked:
        entry.probability = probability if entry is healthy else entry.probability * rest


def _lean(
    rest: Sequence[Ranked], observations: Sequence[Observation], known: Mapping[str, Symptom], training: str
) -> None:
    """Labelled logs were judged by their curves alone: what was seen directly says more."""
    if any(o.state == "present" and o.id in known and known[o.id].direct for o in observations):
        return
    logs = of_labelled_logs()
    problem = problem_of(observations, {i for i, symptom in known.items() if symptom.severity == "problem"}, training)
    if problem is None:
        return
    for entry in rest:
        entry.probability *= logs.factor(problem, entry.cause)


def expectation(explanation: str, symptom: Symptom) -> float:
    """P(present) of a symptom under one explanation; its background rate where the explanation says nothing about it.
    What is seen directly is seen from inside."""
    level = levels()[INSIDE if symptom.direct else CURVE]
    if explanation == OTHER:
        reported = _expected_other(symptom)
    elif explanation == HEALTHY:
        reported = _expected_healthy(level, causes().get(HEALTHY), symptom)
    else:
        reported = _expected(level, causes()[explanation], False, symptom)
    return symptom.background if reported is None else reported


def quiet(observations: Sequence[Observation]) -> float:
    """How much of the evidence is silence, 0 to 1: nothing wrong was found, and much was looked at."""
    known = symptoms()
    return (1 - plainest(observations, known)) * _looked(
        observations, known
    )  # a fault that shows nowhere is improbable


def _looked(observations: Sequence[Observation], known: Mapping[str, Symptom]) -> float:
    """How much was looked at, 0 to 1: silence says little where hardly anything could be measured."""
    ruled_out = sum(o.state == "absent" and o.id in known and known[o.id].severity == "problem" for o in observations)
    return min(1.0, ruled_out / words.ENOUGH)


def _proven(cause: Cause, observations: Sequence[Observation], known: Mapping[str, Symptom], clarity: float) -> bool:
    """The cause itself was seen this clearly: a recording saw (or somebody reported) what it always shows, or what it
    alone usually shows, and hardly anything else does."""
    seen = False
    for observation in observations:
        symptom = known.get(observation.id)
        if symptom is None or not symptom.direct or symptom.id not in marks(cause.id):
            continue
        if observation.state == "absent" and cause.predicts[symptom.id] == "always":
            return False
        seen = seen or (observation.state == "present" and observation.clarity >= clarity)
    return seen


@cache
def marks(cause: str) -> frozenset[str]:
    """Symptoms by which the cause itself is seen: what it always shows, and what it alone usually does."""
    table = causes()
    return frozenset(
        name
        for name, word in table[cause].predicts.items()
        if word == "always"
        or (word == "usually" and sum(one.predicts.get(name) in SEEN_BY for one in table.values()) == 1)
    )


def _weigh(
    entry: Ranked,
    observations: Sequence[Observation],
    known: Mapping[str, Symptom],
    expected: Expectation,
    mild: bool = False,
) -> Ranked:
    """Add what every observation says; of one family only the strongest voice for and the strongest against counts.
    What a cause that was seen itself does not show only says that it is mild. What is only worth a note (a short log, a
    slow machine) weighs, but nobody wants to read it as a reason against a cause."""
    voices: dict[tuple[str, bool], tuple[float, float]] = {}
    for observation in observations:
        symptom = known.get(observation.id)
        probability = expected(symptom) if symptom is not None else None
        if symptom is None or probability is None or observation.state == "unknown":
            continue
        odds = _log_odds(observation, probability, symptom)
        if mild and observation.state == "absent":
            odds *= words.MILD
        voice = (symptom.family, symptom.direct)
        best, worst = voices.get(voice, (0.0, 0.0))
        voices[voice] = (max(best, odds), min(worst, odds))
        if odds > TELLING and observation.state == "present":
            entry.supports.append((odds, observation.evidence))
        elif odds < -TELLING and (observation.state == "absent" or symptom.severity == "problem"):
            text = (
                observation.evidence
                if observation.state == "present"
                else f"{symptom.id} not seen: {observation.evidence}"
            )
            entry.contradicts.append((-odds, text))
    for (_, direct), (best, worst) in voices.items():
        entry.log_weight += (1.0 if direct else words.TEMPERATURE) * (best + worst)
    return entry


def _log_odds(observation: Observation, probability: float, symptom: Symptom) -> float:
    """How much more (or less) this observation is expected under the explanation than in any run."""
    background = symptom.background
    if observation.state == "present":
        return math.pow(observation.clarity, words.CLARITY_POWER) * math.log(probability / background)
    seen = words.SENSITIVITY if symptom.kind == "curve" else words.SENSITIVITY_DIRECT
    odds = math.log((1 - seen * probability) / (1 - seen * background))
    return math.pow(observation.clarity, words.CLARITY_POWER) * odds


def _expected(level: Level, cause: Cause, proven: bool, symptom: Symptom) -> float | None:
    """How often the cause shows this symptom. Where the cause was seen itself, problems it does not rule out may be its
    doing."""
    word = cause.predicts.get(symptom.id)
    rate = level.rate(cause.id, symptom, _rate_of(word, symptom))
    if proven and symptom.severity == "problem" and not symptom.direct:
        if word == "never":  # it was seen: what it never shows alone may be the doing of something beside it
            return max(rate or 0.0, words.AGAINST["rarely"] * symptom.background)
        return max(rate or 0.0, words.STRENGTH["often"])
    return rate


def _rate_of(word: str | None, symptom: Symptom) -> float | None:
    """The number a page's word stands for."""
    if word is None:
        return None
    return min(words.STRENGTH[word], words.AGAINST.get(word, math.inf) * symptom.background)


def _expected_healthy(level: Level, healthy: Cause | None, symptom: Symptom) -> float | None:
    reported = _rate_of(healthy.predicts.get(symptom.id), symptom) if healthy is not None else None
    if reported is None and symptom.severity == "problem":
        reported = symptom.background * (words.HEALTHY_DIRECT if symptom.direct else words.HEALTHY_PROBLEM)
    rate = level.rate(HEALTHY, symptom, reported)
    if rate is not None and symptom.severity == "note":
        # how often sound trainings show it was counted in trainings written here: it is no fault
        return max(rate, symptom.background)
    if rate is not None and level.false_alarms is not None:
        return level.false_alarms.rate(symptom, rate)
    return rate


def _expected_other(symptom: Symptom) -> float | None:
    if symptom.severity != "problem" or symptom.direct:
        return None
    return max(words.OTHER_PROBLEM, symptom.background)


def _normalise(ranked: Sequence[Ranked], level: Level, seen_itself: Collection[str] | None) -> None:
    """Probabilities of the weights. `seen_itself`: what a recording saw, None where there is none. How sure a page may
    be of what was not seen was counted in trainings of other people: those written here are too much alike to tell."""
    top = max(entry.log_weight for entry in ranked)
    weights = [math.exp((entry.log_weight - top) / level.temperature) for entry in ranked]
    total = sum(weights)
    for entry, weight in zip(ranked, weights, strict=True):
        entry.probability = weight / total
    first = max(ranked, key=lambda entry: entry.probability)
    inferred = seen_itself is not None and first.cause not in seen_itself
    _cap(ranked, min(level.ceiling, level.inferred) if inferred else level.ceiling)


def _cap(ranked: Sequence[Ranked], ceiling: float) -> None:
    """No cause is surer than this; what is left belongs to something else."""
    first = max(ranked, key=lambda entry: entry.probability)
    if first.cause not in (HEALTHY, OTHER):
        _bound(ranked, first.cause, ceiling)


def _bound(ranked: Sequence[Ranked], cause: str, at_most: float) -> None:
    """What one explanation has beyond this belongs to something else."""
    bound = next(entry for entry in ranked if entry.cause == cause)
    spare = max(0.0, bound.probability - at_most)
    bound.probability -= spare
    next(entry for entry in ranked if entry.cause == OTHER).probability += spare
