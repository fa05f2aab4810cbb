"""Several causes at once: what the first explanation leaves unexplained, and the others that explain it.

Explanations compete, so the ranking alone names one. Where a problem was seen that the first cause does not bring
about, that problem is ranked again without everything the first explains; another cause is named only if it then beats
health. Mistakes that were seen directly are ranked one by one, so that a script with three of them hears of all three;
of what curves suggest, one second cause is as far as the evidence carries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from traindx.causes import causes
from traindx.diagnosis import Observation
from traindx.engine.context import Hint
from traindx.engine.evidence import Evidence
from traindx.engine.rank import HEALTHY, OTHER, Ranked, expectation, marks, rank
from traindx.engine.words import PROVES
from traindx.symptoms import symptoms

BRINGS = 0.15  # a cause that shows a symptom this often explains it
BEYOND = 5.0  # or this many times more often than usual
SURE = 0.5  # another cause is named from here on, or where it is likelier than health and anything unknown
CLEAR = 0.6  # of what is left unexplained
RIVAL = 0.05  # a cause at work beside the first that takes more than this from it

# What to put right first: numbers that are no numbers, then what is computed at all, then how it is learnt, speed last.
# A fault further down cannot be judged while one above it is there.
NUMERICS, NONFINITE = "numerics", "nonfinite"  # the group of such causes, the family of such symptoms
FIX_ORDER = (
    NUMERICS, "wiring", "which weights move", "loss and output", "what the loss sees", "data", "initialisation",
    "gradient flow", "optimisation", "learning rate", "going on", "distributed", "capacity", "throughput", "reward",
    "preference", "policy", "classic", "generative", "none",
)  # fmt: skip


@dataclass(frozen=True)
class SecondaryCause:
    """A cause that is at work beside the first, and what it explains."""

    cause: str
    probability: float
    shown: tuple[Observation, ...]

    @property
    def supports(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(observation.evidence for observation in self.shown))


def secondary_causes(evidence: Evidence, ranked: Sequence[Ranked]) -> tuple[SecondaryCause, ...]:
    """The causes at work beside the first, in the order to fix them; none where one explains all that was seen."""
    first = next((entry for entry in ranked if entry.cause not in (HEALTHY, OTHER)), None)
    if first is None or not (first.probability >= SURE or _seen(first.cause, evidence.observations)):
        return ()
    ruined = _ruined_from(evidence.observations) if causes()[first.cause].group == NUMERICS else math.inf
    unexplained = [
        o for o in evidence.observations
        if _problem(o) and o.clarity >= CLEAR and not _brings(first.cause, o) and not _after(o, ruined)
    ]  # fmt: skip
    left = [o for o in evidence.observations if not (_problem(o) and _brings(first.cause, o))]
    hints = [hint for hint in evidence.hints if hint.cause != first.cause]
    facts = [o for o in unexplained if symptoms()[o.id].direct and o.clarity >= PROVES]
    found: dict[str, SecondaryCause] = {}
    for fact in facts:
        if any(_brings(cause, fact) for cause in found):
            continue
        alone = [o for o in left if o is fact or o not in facts]
        other = _explaining(alone, unexplained, hints, evidence.unfamiliar, first.cause)
        if other is not None and fact in other.shown:
            found.setdefault(other.cause, other)
    if not found:
        other = _explaining(left, unexplained, hints, evidence.unfamiliar, first.cause)
        found = {} if other is None else {other.cause: other}
    # all must be right: the others rest on the first having explained the rest
    certainty = 1.0 if _seen(first.cause, evidence.observations) else first.probability
    named = (replace(one, probability=one.probability * certainty) for one in found.values())
    return tuple(sorted(named, key=lambda one: FIX_ORDER.index(causes()[one.cause].group)))


def without_secondary(evidence: Evidence, ranked: list[Ranked], others: Sequence[SecondaryCause]) -> list[Ranked]:
    """The ranking with what the other causes explain set apart, where they were seen too and only take from the first
    what is certain: faults that were seen are no rivals."""
    by_id = {entry.cause: entry.probability for entry in ranked}
    seen = [one for one in others if _seen(one.cause, evidence.observations)]
    if not any(by_id[one.cause] > RIVAL for one in seen):
        return ranked
    theirs = {observation.id for one in seen for observation in one.shown}
    rest = [o for o in evidence.observations if o.state != "unknown" and o.id not in theirs]
    hints = [hint for hint in evidence.hints if hint.cause not in {one.cause for one in seen}]
    return rank(rest, hints, unfamiliar=evidence.unfamiliar, training=evidence.training)


def _explaining(
    left: Sequence[Observation], unexplained: Sequence[Observation], hints: Sequence[Hint], unfamiliar: bool, first: str
) -> SecondaryCause | None:
    """The cause that explains what is left, if it explains any of what the first does not and is likelier than
    health and anything unknown together."""
    if not unexplained:
        return None
    again = rank([o for o in left if o.state != "unknown"], hints, unfamiliar=unfamiliar)
    candidate = next(entry for entry in again if entry.cause not in (HEALTHY, OTHER, first))
    chance = {entry.cause: entry.probability for entry in again}
    least = min(SURE, chance[HEALTHY] + chance[OTHER])
    explains = tuple(o for o in unexplained if o in left and expectation(candidate.cause, symptoms()[o.id]) >= BRINGS)
    if not explains or candidate.probability < least or candidate.probability <= chance[HEALTHY]:
        return None
    return SecondaryCause(candidate.cause, candidate.probability, explains)


def _ruined_from(observations: Sequence[Observation]) -> float:
    """The step from which a number was none: scores and curves since then tell of nothing else."""
    hit = (o for o in observations if o.state == "present" and symptoms()[o.id].family == NONFINITE)
    return min((o.steps[0] for o in hit if o.steps), default=math.inf)


def _after(observation: Observation, step: float) -> bool:
    direct = symptoms()[observation.id].direct
    return not direct and observation.steps is not None and observation.steps[0] >= step


def _problem(observation: Observation) -> bool:
    symptom = symptoms().get(observation.id)
    return observation.state == "present" and symptom is not None and symptom.severity == "problem"


def _brings(cause: str, observation: Observation) -> bool:
    symptom = symptoms()[observation.id]
    rate = expectation(cause, symptom)
    return rate >= BRINGS or rate >= BEYOND * symptom.background


def _seen(cause: str, observations: Sequence[Observation]) -> bool:
    """The cause itself was seen: what it always shows, and hardly anything else does."""
    return any(
        o.id in marks(cause) and _problem(o) and o.clarity >= PROVES and symptoms()[o.id].direct for o in observations
    )
