"""Two causes at once: what the first explanation leaves unexplained, and the second one that explains it.

Explanations compete, so the ranking alone names one. Where a problem was seen that the first cause does not bring about, that
problem is ranked again without everything the first explains; a second cause is named only if it then beats health.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from traindx.diagnosis import Observation
from traindx.engine.context import Hint
from traindx.engine.rank import HEALTHY, OTHER, Ranked, expectation, rank
from traindx.symptoms import symptoms

BRINGS = 0.15  # a cause that shows a symptom this often explains it
BEYOND = 5.0  # or this many times more often than usual
SURE = 0.5  # a second cause is named from here on
CLEAR = 0.6  # of what is left unexplained


@dataclass(frozen=True)
class Second:
    """A cause that is at work beside the first, and what it explains."""

    cause: str
    probability: float
    supports: tuple[str, ...]


def second(
    observations: Sequence[Observation], hints: Sequence[Hint], ranked: Sequence[Ranked], unfamiliar: bool
) -> Second | None:
    """The second cause, or None where one explains all that was seen."""
    first = next((entry for entry in ranked if entry.cause not in (HEALTHY, OTHER)), None)
    if first is None or first.probability < SURE:
        return None
    known = symptoms()
    left: list[Observation] = []
    unexplained: list[Observation] = []
    for observation in observations:
        symptom = known.get(observation.id)
        if observation.state != "present" or symptom is None or symptom.severity != "problem":
            left.append(observation)
            continue
        rate = expectation(first.cause, symptom)
        if rate >= BRINGS or rate >= BEYOND * symptom.background:
            continue
        left.append(observation)
        if observation.clarity >= CLEAR:
            unexplained.append(observation)
    if not unexplained:
        return None
    others = [hint for hint in hints if hint.cause != first.cause]
    again = rank(left, others, unfamiliar=unfamiliar)
    candidate = next(entry for entry in again if entry.cause not in (HEALTHY, OTHER, first.cause))
    healthy = next(entry.probability for entry in again if entry.cause == HEALTHY)
    explains = [o for o in unexplained if expectation(candidate.cause, known[o.id]) >= BRINGS]
    if not explains or candidate.probability < SURE or candidate.probability <= healthy:
        return None
    # both must be right: the second rests on the first having explained the rest
    return Second(candidate.cause, candidate.probability * first.probability, tuple(o.evidence for o in explains))
