"""What trials say about causes: the strongest evidence there is. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from traindx.causes import causes
from traindx.diagnosis import Diagnosis, Hypothesis
from traindx.trials.judge import Verdict
from traindx.trials.plan import LEAST_LIKELY

OTHER = "other"
HEALTHY = "healthy"
# Odds of each verdict on a cause's own fix where the cause is right against where it is not. A right cause whose fix
# does nothing is rarer than a wrong cause whose fix helps a little, since many faults have several remedies.
ODDS: dict[Verdict, float] = {"helped": 8.0, "no-effect": 0.3, "worse": 0.2, "failed": 1.0}
LATER_FIX = 0.5  # power of these odds for a fix that is not the cause's first


@dataclass(frozen=True)
class Proof:
    """One fix and what came of it; `rank` is its place among the fixes of the cause."""

    cause: str
    fix: str
    verdict: Verdict
    sentence: str
    rank: int = 0


def revised(page: Diagnosis, tests: Sequence[Proof], later: Sequence[tuple[Hypothesis, Proof]] = ()) -> Diagnosis:
    """The diagnosis after the trials: confirmed causes rise, refuted ones fall, and the sum stays one. A cause that was
    too unlikely to be named is named once its fix has helped. `later`: causes that showed themselves after a first
    change, and what came of their fix on top of it: they are at work beside the first."""
    stated = {hypothesis.cause for hypothesis in (*page.hypotheses, *page.also)}
    found = dict.fromkeys(test.cause for test in tests if test.verdict == "helped" and test.cause not in stated)
    new = [Hypothesis(cause, causes()[cause].title, LEAST_LIKELY) for cause in found if cause in causes()]
    weighed = [
        _weighed(hypothesis, [test for test in tests if test.cause == hypothesis.cause])
        for hypothesis in (*page.hypotheses, *new)
    ]
    total = sum(weight for _, weight in weighed) or 1.0
    settled = [replace(hypothesis, confidence=weight / total) for hypothesis, weight in weighed]
    settled.sort(key=lambda hypothesis: (hypothesis.cause == OTHER, -hypothesis.confidence))
    secondary = {hypothesis.cause: (hypothesis, tests) for hypothesis in page.also}
    first = settled[0].cause if settled else ""
    for hypothesis, proof in later:
        if hypothesis.cause != first:
            known, others = secondary.get(hypothesis.cause, (hypothesis, ()))
            secondary[hypothesis.cause] = (known, (*others, proof))
    also = tuple(_with_proofs(one, [t for t in stated if t.cause == one.cause]) for one, stated in secondary.values())
    return replace(page, hypotheses=tuple(settled), also=also)


def _with_proofs(hypothesis: Hypothesis, tests: Sequence[Proof]) -> Hypothesis:
    """A cause at work beside the first: it is there or not, whatever the others are."""
    stated, weight = _weighed(hypothesis, tests)
    return replace(stated, confidence=weight / (weight + 1 - hypothesis.confidence) if weight else 0.0)


def _weighed(hypothesis: Hypothesis, tests: Sequence[Proof]) -> tuple[Hypothesis, float]:
    if not tests or hypothesis.cause in (OTHER, HEALTHY):
        return hypothesis, hypothesis.confidence
    best = max(tests, key=lambda test: (ODDS[test.verdict], -test.rank))
    # the fixes of one cause are not independent: its best verdict speaks
    power = 1.0 if best.rank == 0 or best.verdict == "helped" else LATER_FIX
    weight = hypothesis.confidence * math.pow(ODDS[best.verdict], power)
    if best.verdict == "helped":
        return replace(hypothesis, supports=(best.sentence, *hypothesis.supports)), weight
    if best.verdict in ("no-effect", "worse"):
        return replace(hypothesis, contradicts=(best.sentence, *hypothesis.contradicts)), weight
    return hypothesis, weight
