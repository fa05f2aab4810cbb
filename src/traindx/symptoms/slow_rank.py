"""slow-rank: the ranks wait for one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import RankStep
from traindx.run import Floats
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_fact, seen
from traindx.symptoms.ranks import Rank, measured_by, ranks_of, shared_steps
from traindx.thresholds import Threshold, fitted

ID = "slow-rank"
MIN_STRETCH = 3  # steps in a stretch of time that is compared: one or two are over too soon to be timed
STRETCHES = Threshold(5, "stretches of time", "of fewer, three in four by the same rank may be chance")
STEPS = Threshold(30, "steps in all of them", "six in a stretch, so that a single pause does not make one slow")
SLOWER = fitted(f"{ID}.slower", 0.2, unit="of the step time that the others wait", strong=0.4)
CLEAR = 0.8  # clarity of a finding that is not strong
EVEN = fitted(f"{ID}.even", 0.1, unit="of the step time, to be called absent", side="below")
SECONDS = Threshold(2e-3, "seconds a step", "less is the scatter of a clock and a scheduler")
MOSTLY = fitted(f"{ID}.mostly", 0.75, unit="of the stretches in which the same rank is slow")
ITS_DATA = fitted(f"{ID}.its-data", 0.6, unit="of the difference that is the wait for data, to be named so")

_otherwise = from_fact(ID)


@dataclass(frozen=True)
class _Stretch:
    """Between two steps that were compared, for each rank: steps, and seconds in all, of its own and of waiting for
    data."""

    steps: Floats
    whole: Floats
    own: Floats
    waited: Floats

    @property
    def period(self) -> float:
        return max(float((self.whole / self.steps).max()), 1e-12)


def detect(signals: Signals) -> Observation:
    ranks = ranks_of(signals.run)
    found = _compare(ranks) if ranks else None
    return found if found is not None else _otherwise(signals)


def _compare(ranks: Sequence[Rank]) -> Observation | None:
    """All ranks take the same time for a step, since they wait for each other in `backward`. What they spend before it
    is their own; with shards or on a device only the wait for data is."""
    if any(rank.spread == "apart" for rank in ranks):
        return None  # nobody is known to wait for anybody
    stretches = _stretches(ranks)
    if not STRETCHES.reached(len(stretches)) or not STEPS.reached(sum(int(one.steps.min()) for one in stretches)):
        return None
    own_counts = all(rank.spread == "replicated" and all(one.host for one in rank.steps.values()) for rank in ranks)
    votes = Counter(
        found[0] for one in stretches if SLOWER.reached((found := _slowest(one, own_counts))[1] / one.period)
    )
    total = _Stretch(*(np.sum([getattr(one, name) for one in stretches], axis=0) for name in _Stretch.__annotations__))
    slowest, gap = _slowest(total, own_counts)
    share = gap / total.period
    if EVEN.reached(share) or not SECONDS.reached(gap):
        return seen(ID, False, f"No rank keeps the others waiting by more than {percent(EVEN.value)} of a step.")
    if not SLOWER.reached(share) or not MOSTLY.reached(votes[slowest] / len(stretches)):
        return None
    of_data = _behind(total.waited / total.steps, slowest)
    its_data = ITS_DATA.reached(of_data / gap)
    at = "waiting for its data" if its_data else "in its forward pass and the code around it"
    return seen(
        ID,
        True,
        f"Before each exchange rank {ranks[slowest].number} takes {gap * 1e3:.0f} ms longer than the others, {at}: "
        f"they wait for it {percent(share)} of the step time ({total.period * 1e3:.0f} ms).",
        where=f"rank {ranks[slowest].number}",
        clarity=max(CLEAR, SLOWER.clarity(share)),
    )


def _stretches(ranks: Sequence[Rank]) -> list[_Stretch]:
    shared = shared_steps(ranks)
    looks = [[rank.steps[step] for step in shared] for rank in ranks]
    table = np.array(
        [[(one.steps, one.whole, one.own, one.waited) for one in of_rank] for of_rank in looks], dtype=float
    )
    found: list[_Stretch] = []
    start = 0
    for _, stop in pairwise(range(len(shared))):
        part = table[:, stop] - table[:, start]
        if part[:, 0].min() >= MIN_STRETCH:
            found.append(_Stretch(*part.T))
            start = stop
    return found


def _slowest(stretch: _Stretch, own_counts: bool) -> tuple[int, float]:
    """The rank with the most time of its own a step, and how many seconds that is more than the median of the
    others."""
    seconds = (stretch.own if own_counts else stretch.waited) / stretch.steps
    slowest = int(np.argmax(seconds))
    return slowest, _behind(seconds, slowest)


def _behind(seconds: Floats, rank: int) -> float:
    return float(seconds[rank] - np.median(np.delete(seconds, rank)))


def _steps(own: float, waited: float = 0.001, host: bool = True, count: int = 60) -> Iterator[RankStep]:
    """Two ranks with 50 ms a step, of which the second takes this long before the exchange."""
    for step in range(0, count, 4):
        for rank, mine, data in ((0, 0.005, 0.001), (1, own, waited)):
            yield RankStep(
                rank=rank, steps=step, whole=0.05 * step, own=mine * step, waited=data * step, host=host, step=step
            )


SYMPTOM = Symptom(
    id=ID,
    title="ranks wait for one of them",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording of all ranks (traindx run -- torchrun …)",),
    doc="""
## What is observed
One and the same rank comes last to the exchange of gradients, step after step, and the others wait for it.

## How it is measured
In synchronous training every rank takes the same time for a step, since they wait for each other in `backward`. What a
rank spends before it, on its data, its forward pass and the code around them, is its own. These times are compared
stretch by stretch; steps that the recorder looked at closely are left out. Present when one rank takes longer than the
median of the others by at least 20 % of the step and 2 ms over the whole run, and by 20 % in three stretches of four.
With sharded models the forward pass waits too, and on a GPU the host runs ahead of the device: there only the wait for
data is compared.

## Healthy range
Below 10 % of the step. A rank that is last once in a while is chance.

## What it usually means
Unequal work or unequal machines: longer samples or a slower disk on one rank, validation, logging or checkpoints on
rank 0 only, a processor shared with another job.
""",
    detect=detect,
    cases=(
        Case("slow code", "present", measured=measured_by(_steps(0.03))),
        Case("slow data", "present", measured=measured_by(_steps(0.03, waited=0.025))),
        Case("as fast as the other", "absent", measured=measured_by(_steps(0.006))),
        Case("a little slower", "unknown", measured=measured_by(_steps(0.0125))),
        Case("slower by a fifth of the step", "present", measured=measured_by(_steps(0.0155))),
        Case("shards wait in the forward pass", "absent", measured=measured_by(_steps(0.03), "sharded")),
        Case("the host runs ahead of a device", "absent", measured=measured_by(_steps(0.03, host=False))),
        Case("models that nothing ties together", "unknown", measured=measured_by(_steps(0.03), "apart")),
        Case("too few steps", "unknown", measured=measured_by(_steps(0.03, count=28))),
        Case("a log alone", "unknown"),
    ),
)
