"""Which change goes before which: of trials the better one, of a cause's fixes the one that can be written down.
Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindx.trials.judge import MIN_EFFECT, Effect

if TYPE_CHECKING:
    from traindx.trials.outcome import Trial
    from traindx.trials.plan import Candidate

ALIKE = math.log(1.1)  # effects closer than this are the same
MOST_OF_IT = 0.5  # of the effect of the largest change: more of a smaller one is a matter of its strength
SAFE = {"safe": 0, "caution": 1, "disruptive": 2}


def written_instead(other: Candidate, candidate: Candidate) -> bool:
    """Another change for the same cause that can be written into the script, where this one cannot."""
    return other.cause == candidate.cause and bool(other.edits) and not candidate.edits


def standing(trial: Trial) -> tuple[float, float, bool, bool, bool, int, float]:
    """Best first: the larger effect, and among like ones what removes a fault that was seen, what can be written down,
    the safer and the likelier."""
    size = trial.effect.size if trial.effect is not None else MIN_EFFECT
    return (
        -round(size / ALIKE),
        _left(trial.effect),
        not set(trial.candidate.proofs) & set(trial.cleared),
        bool(trial.wanted) and not trial.cleared,
        not trial.candidate.edits,
        SAFE[trial.candidate.safety],
        -trial.candidate.weight,
    )


def _left(effect: Effect | None) -> float:
    """The error that a change leaves, in steps of a tenth, where it was lost without: every number is infinitely better
    than none, so the effect itself does not tell two changes apart."""
    if effect is None or math.isfinite(effect.before) or not 0 < effect.after < math.inf:
        return 0.0
    return round(math.log(effect.after) / ALIKE)


def rival_of(best: Trial, trials: Sequence[Trial]) -> Trial | None:
    """A likelier fix that removes the fault that was seen as well, and of which one pair alone is known: what led after
    one pair may have led by luck, the more so the more strengths of it were tried."""
    others = [
        one
        for one in trials
        if one.candidate.fix != best.candidate.fix
        and one.candidate.weight > best.candidate.weight
        and one.repaired
        and one.open
    ]
    return max(others, key=lambda one: one.candidate.weight, default=None)


def gentler_than(best: Trial, trials: Sequence[Trial]) -> Trial | None:
    """The safest change for the same cause that clears all that the best one clears and gains half as much at least: it
    is shown, and proposed, before a larger change."""
    if best.effect is None or not best.cleared:
        return None
    others = [
        one
        for one in trials
        if one.verdict not in ("worse", "failed")
        and one.candidate.cause == best.candidate.cause
        and set(best.cleared) <= set(one.cleared)
        and one.effect is not None
        and one.effect.size >= MOST_OF_IT * best.effect.size
        and SAFE[one.candidate.safety] < SAFE[best.candidate.safety]
    ]
    return min(others, key=lambda one: (SAFE[one.candidate.safety], standing(one)), default=None)
