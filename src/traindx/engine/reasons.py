"""Why the ranking is as it is: what each piece of evidence does to one explanation, and what would have to be seen to
change it.

Nothing here knows how evidence is weighed. Every weight is a difference between two rankings, one with the piece and
one without, so that it is right by construction whatever `rank` does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from traindx.causes import causes
from traindx.diagnosis import Observation
from traindx.engine.evidence import Evidence
from traindx.engine.rank import HEALTHY, OTHER, Ranked, expectation
from traindx.engine.ways import Way, cheapest
from traindx.symptoms import symptoms

Strength = Literal["decisive", "strong", "moderate", "weak", "none"]

# Log odds from which a piece of evidence deserves its word: odds times 20, 5, 2 and 1.2 (Jeffreys' scale, rounded).
_STRENGTHS: tuple[tuple[float, Strength], ...] = (
    (math.log(20), "decisive"), (math.log(5), "strong"), (math.log(2), "moderate"), (math.log(1.2), "weak"),
)  # fmt: skip
_CERTAIN = 1e-9  # probabilities are kept this far from 0 and 1, so that odds stay finite
_TELLING = math.log(1.2)
_REDUNDANT = 0.35  # of what a piece says alone; below this others say the same
_WORTH_SHARING = math.log(2)  # what only repeats others is listed from here on
_LEADS = 0.2  # a finding after which another explanation leads by less than this would leave the answer open
_PREDICTED = 2.0  # a symptom this much more or less likely than usual is predicted or ruled out by a cause


@dataclass(frozen=True)
class Reason:
    """One piece of evidence. `weight`: by how much it moves the log odds of the explanation as things stand; `alone`:
    by how much it would if nothing else were known. `shared`: other evidence says much the same."""

    id: str
    state: str
    sentence: str
    weight: float
    alone: float
    where: str | None = None

    @property
    def strength(self) -> Strength:
        return strength(self.shown)

    @property
    def shown(self) -> float:
        """What a reader should see: the weight as things stand, or what a shared piece says by itself."""
        return self.alone if self.shared else self.weight

    @property
    def shared(self) -> bool:
        return abs(self.alone) > _WORTH_SHARING and abs(self.weight) < _REDUNDANT * abs(self.alone)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "state": self.state, "evidence": self.sentence, "where": self.where,
            "log_odds": round(self.weight, 3), "log_odds_alone": round(self.alone, 3), "strength": self.strength,
            "shared": self.shared,
        }  # fmt: skip


@dataclass(frozen=True)
class Lacking:
    """A symptom nobody looked for: how probably it would be found as things stand, and what the explanation's
    probability would become if it were found or ruled out."""

    id: str
    title: str
    chance: float
    if_present: float
    if_absent: float
    weight_present: float
    weight_absent: float
    top_if_present: str
    top_if_absent: str
    how: str
    lead_if_present: float  # the probability of the first explanation then
    lead_if_absent: float

    def reach(self, now: float) -> float:
        """By how much looking is expected to move the probability, whichever way."""
        return self.chance * abs(self.if_present - now) + (1 - self.chance) * abs(self.if_absent - now)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "title": self.title, "chance": round(self.chance, 4), "how": self.how,
            "if_present": {"confidence": round(self.if_present, 4), "log_odds": round(self.weight_present, 3),
                           "strength": strength(self.weight_present), "top": self.top_if_present},
            "if_absent": {"confidence": round(self.if_absent, 4), "log_odds": round(self.weight_absent, 3),
                          "strength": strength(self.weight_absent), "top": self.top_if_absent},
        }  # fmt: skip


@dataclass(frozen=True)
class Why:
    """Everything that bears on one explanation. `changes`: single findings after which the answer would be another."""

    cause: str
    title: str
    probability: float
    place: int
    top: str
    supports: tuple[Reason, ...]
    contradicts: tuple[Reason, ...]
    missing: tuple[Lacking, ...]
    changes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "traindx.why/1", "cause": self.cause, "title": self.title,
            "confidence": round(self.probability, 4),
            "place": self.place, "top": self.top, "for": [reason.to_json() for reason in self.supports],
            "against": [reason.to_json() for reason in self.contradicts],
            "missing": [lacking.to_json() for lacking in self.missing], "would_change": list(self.changes),
        }  # fmt: skip


def strength(log_odds: float) -> Strength:
    """The word for a weight, whichever way it points."""
    return next((word for least, word in _STRENGTHS if abs(log_odds) >= least), "none")


def why(evidence: Evidence, cause: str, reported: Callable[[Way], str] = lambda way: way.command) -> Why:
    """What speaks for and against `cause`, what was not looked at, and what would change the answer. `reported` gives
    the command of a way to look, with the run's own names; none for a way that was gone already."""
    ranked = evidence.ranked()
    place = next(number for number, entry in enumerate(ranked, 1) if entry.cause == cause)
    now, top = ranked[place - 1].probability, ranked[0].cause
    reasons = [
        *_of_observations(evidence, cause, now),
        *_of_hints(evidence, cause, now),
    ]
    reasons.sort(key=lambda reason: (-abs(reason.shown), -abs(reason.alone)))
    once = {
        (reason.sentence, reason.state): reason for reason in reversed(reasons)
    }  # of the same sentence the strongest
    telling = [
        reason
        for reason in reasons
        if (abs(reason.weight) > _TELLING or reason.shared) and once[reason.sentence, reason.state] is reason
    ]
    lacking = sorted(_lacking(evidence, cause, ranked, reported), key=lambda item: -item.reach(now))
    known = causes()
    return Why(
        cause, known[cause].title if cause in known else cause, now, place, top,
        tuple(reason for reason in telling if reason.shown > 0),
        tuple(reason for reason in telling if reason.shown < 0),
        tuple(lacking), tuple(_changes(lacking, cause, top)),
    )  # fmt: skip


def _of_observations(evidence: Evidence, cause: str, now: float) -> list[Reason]:
    found: list[Reason] = []
    nothing = replace(evidence, observations=(), hints=())
    base = nothing.probabilities()[cause]
    for observation in evidence.observations:
        if observation.state == "unknown" or observation.id not in symptoms():
            continue
        without = evidence.given([replace(observation, state="unknown")]).probabilities()[cause]
        alone = replace(nothing, observations=(observation,)).probabilities()[cause]
        found.append(
            Reason(observation.id, observation.state, observation.evidence, _logit(now) - _logit(without),
                   _logit(alone) - _logit(base), observation.where)
        )  # fmt: skip
    return found


def _of_hints(evidence: Evidence, cause: str, now: float) -> list[Reason]:
    found = []
    for place, hint in enumerate(evidence.hints):
        if hint.cause == cause:
            without = evidence.without_hint(place).probabilities()[cause]
            weight = _logit(now) - _logit(without)
            found.append(Reason("settings", "present", hint.sentence, weight, weight))
    return found


def _lacking(evidence: Evidence, cause: str, ranked: Sequence[Ranked], reported: Callable[[Way], str]) -> list[Lacking]:
    known = symptoms()
    now = next(entry.probability for entry in ranked if entry.cause == cause)
    found = []
    for observation in evidence.observations:
        symptom = known.get(observation.id)
        if symptom is None or observation.state != "unknown" or cause == OTHER:
            continue
        ratio = expectation(cause, symptom) / symptom.background
        how = reported(cheapest(symptom))
        if not how or (1 / _PREDICTED < ratio < _PREDICTED and cause != HEALTHY):
            continue
        present, absent = (
            evidence.given([Observation(symptom.id, state, "supposed")]).ranked() for state in ("present", "absent")
        )
        seen = next(entry.probability for entry in present if entry.cause == cause)
        unseen = next(entry.probability for entry in absent if entry.cause == cause)
        found.append(
            Lacking(symptom.id, symptom.title, sum(entry.probability * expectation(entry.cause,
                                                                                   symptom) for entry in ranked),
                    seen, unseen, _logit(seen) - _logit(now), _logit(unseen) - _logit(now),
                    present[0].cause, absent[0].cause, how, present[0].probability, absent[0].probability)
        )  # fmt: skip
    return found


def _changes(lacking: list[Lacking], cause: str, top: str) -> list[str]:
    """Single findings that would put the explanation first, or put it off the first place, likeliest finding first."""
    reported: list[tuple[float, str]] = []
    for item in lacking:
        for state, chance, leads, share in (
            ("seen", item.chance, item.top_if_present, item.lead_if_present),
            ("ruled out", 1 - item.chance, item.top_if_absent, item.lead_if_absent),
        ):
            if (leads == cause) != (top == cause) and share >= _LEADS:
                name = '"something else"' if leads == OTHER else leads
                after = f"{name} would lead with {share * 100:.0f} %"
                reported.append((chance, f"if {item.id} were {state}, {after}"))
    return [text for _, text in sorted(reported, key=lambda pair: -pair[0])]


def _logit(probability: float) -> float:
    p = min(max(probability, _CERTAIN), 1 - _CERTAIN)
    return math.log(p / (1 - p))
