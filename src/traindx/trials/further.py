"""What comes after the first change: where something else is still wrong with the training, the fix of that on top of
it.

It stays one change at a time. Each is compared with the training that has those before it, so that what it adds is
known by itself; and all of them together are compared with the unchanged script, which is what their owner wants to
know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from traindx.diagnosis import Diagnosis, Hypothesis
from traindx.trials.order import gentler_than, standing
from traindx.trials.outcome import Trial
from traindx.trials.plan import EXCUSED, Candidate, proofs_of
from traindx.trials.session import Session

MOST_FURTHER = 2  # changes after the first
LIKELY = 0.6  # a cause that is less probable is not what is left

Plan = Callable[[Diagnosis, Candidate], list[Candidate]]
Strengthen = Callable[[Diagnosis, Candidate, float], Candidate | None]  # the same change with another strength


def helped(trials: Iterable[Trial]) -> Trial | None:
    """The best of those that helped; a smaller change before it that does most of the same."""
    those = [trial for trial in trials if trial.verdict == "helped"]
    best = min(those, key=standing, default=None)
    return best and (gentler_than(best, those) or best)


def further(session: Session, first: Diagnosis, planned: Plan, strengthened: Strengthen, at_once: int) -> None:
    """Go on from the best change as long as something else is plainly wrong with the training that has it.
    `session.best` is the last change of those that help together."""
    session.best = _taken(session, helped(session.of_this_round()))
    stand = session.best or _stepping_stone(session.of_this_round())
    for _ in range(MOST_FURTHER):
        left = {} if stand is None else left_after(stand.candidate, first, session.pages(stand.candidate))
        if stand is None or not left or session.left <= 0:
            return
        page, base = session.pages(stand.candidate)[0], stand.candidate
        names = {setting.name for setting in base.whole}
        candidates = [
            one
            for one in planned(page, base)
            if one.cause in left
            and not names & {s.name for s in one.settings}
            and one.judged != "speed"  # seconds say nothing of what the changes before it have done
        ]
        if not candidates:
            return
        session.tell(f"with {base.change} something else is left: {', '.join(left)}")
        session.base = base
        session.search(candidates, at_once, partial(strengthened, page))
        winner = helped(session.of_this_round())
        taken = _taken(session, winner)
        if taken is not None:
            session.best = stand = taken
        elif session.best is None:
            stand = winner or _stepping_stone(session.of_this_round())
        else:
            return


def _taken(session: Session, trial: Trial | None) -> Trial | None:
    """A change that helps, if those it is made on top of help together with it."""
    if trial is None or trial.candidate.on is None:
        return trial
    return trial if session.against_the_script(trial.candidate).verdict == "helped" else None


def _stepping_stone(trials: Iterable[Trial]) -> Trial | None:
    """A change that removes a fault which was seen, while the training is lost with it as without it: another fault
    loses it too, and neither can be shown to help alone."""
    stones = [
        trial
        for trial in trials
        if trial.verdict == "no-effect" and trial.repaired and trial.effect is not None and trial.seeds > 1
        and not math.isfinite(trial.effect.before) and not math.isfinite(trial.effect.after)
    ]  # fmt: skip
    return max(stones, key=lambda trial: trial.candidate.weight, default=None)


def left_after(change: Candidate, first: Diagnosis, pages: Sequence[Diagnosis]) -> dict[str, Hypothesis]:
    """What is wrong with every training that has the change: causes that are likely there, and faults that were seen at
    the first look and still are. The cause of the change itself is none of them, unless it is plainly to be seen."""
    if not pages or any(page.verdict != "unhealthy" for page in pages):
        return {}
    there = set.intersection(*({symptom.id for symptom in page.present()} for page in pages))
    found = [_wrong(page) for page in pages]
    stated = {cause: one for cause, one in found[0].items() if all(cause in other for other in found[1:])}
    for hypothesis in (*first.hypotheses, *first.also):
        if hypothesis.cause not in EXCUSED and there & set(proofs_of(hypothesis.cause)):
            stated.setdefault(hypothesis.cause, hypothesis)
    treated = {one.cause for one in change.chain}
    return {
        cause: one for cause, one in stated.items() if cause not in treated or there & set(proofs_of(cause))
    }  # fmt: skip


def _wrong(page: Diagnosis) -> dict[str, Hypothesis]:
    """The first cause and what was seen beside it, as far as they are likely."""
    first = next((one for one in page.hypotheses if one.cause not in EXCUSED), None)
    both = (first, *page.also) if first is not None else page.also
    return {one.cause: one for one in both if one.confidence >= LIKELY}
