"""The ranks of one distributed training, compared: do their weights agree, do they see different data, does one keep the others
waiting? Each rank has written its own lines at the same steps; nothing was exchanged while the training ran.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from traindx.readers.rank_lines import Rank, Tick
from traindx.run import Fact

NOISE = 1e-6  # of a parameter's size: what equal replicas may differ by, on unlike machines
DIFFER = 1e-4  # below, unlike machines that round in their own ways may get there in a long training
SURE_APART = 0.9  # replicas that nothing ties together may be meant so
PRINTS = 6  # fingerprints of batches before they are judged
KINDS = 3  # different ones among them: batches that never change say nothing
WINDOW = 3  # steps in a stretch of time that is compared
WINDOWS = 5
TIMED = 30  # steps in all of them
SLOWER = 0.2  # of the step time
PLAINLY_SLOWER = 0.4
EVEN = 0.1
LEAST_SECONDS = 2e-3  # a step
MOSTLY = 0.75  # of the stretches
ITS_DATA = 0.6  # of the difference


def compare(ranks: Sequence[Rank]) -> list[Fact]:
    """What the ranks say together that none of them knows alone."""
    if len(ranks) < 2:
        return []
    steps = sorted(set.intersection(*(set(rank.ticks) for rank in ranks)))
    found = (_weights(ranks, steps), _data(ranks, steps), _times(ranks, steps))
    return [fact for fact in found if fact is not None]


# --- do the weights agree? --------------------------------------------------------------------------------------------


def _weights(ranks: Sequence[Rank], steps: list[int]) -> Fact | None:
    first = ranks[0]
    if any(rank.spread != first.spread or rank.names != first.names for rank in ranks) or not first.names:
        return None
    if first.spread not in ("replicated", "apart"):
        return None
    apart = {step: found for step in steps if (found := _difference([rank.ticks[step] for rank in ranks])) is not None}
    if not apart:
        return None
    steps = list(apart)
    bad = [step for step in steps if apart[step].max() > DIFFER]
    if first.spread == "apart" and (len(steps) < 2 or apart[steps[0]].max() > NOISE):
        return None  # never equal: each rank may have a model of its own by design
    if not bad:
        if max(float(values.max()) for values in apart.values()) > NOISE:
            return None
        text = f"{len(first.names)} parameters were equal on all {len(ranks)} ranks at {len(steps)} steps."
        return Fact("replica-mismatch", False, text, step=float(steps[-1]))
    step = bad[0]
    if len(bad) < len([one for one in steps if one >= step]) / 2:
        return None  # they come together again: averaged from time to time, as in local SGD
    place = int(np.argmax(apart[step] > DIFFER))
    sums = [rank.ticks[step].sums[place] for rank in ranks]
    odd = max(range(1, len(ranks)), key=lambda index: abs(sums[index] - sums[0]))
    before = max((one for one in steps if one < step), default=None)
    still = f"; they were equal at step {before}" if before is not None else ""
    tied = (
        ""
        if first.spread == "replicated"
        else " No DistributedDataParallel or sharding ties the ranks' models together."
    )
    return Fact(
        "replica-mismatch", True,
        f"At step {step} {first.names[place]} is another one on rank {ranks[odd].number} than on rank {first.number}, by "
        f"{apart[step][place]:.2g} of its size{still}. {int((apart[steps[-1]] > DIFFER).sum())} of {len(first.names)} parameters "
        f"compared differ at step {steps[-1]}.{tied}",
        first.names[place], float(step), 1.0 if first.spread == "replicated" else SURE_APART,
    )  # fmt: skip


def _difference(ticks: Sequence[Tick]) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """By parameter, how far the ranks' sums are apart, relative to its norm."""
    lengths = {len(tick.sums) for tick in ticks} | {len(tick.norms) for tick in ticks}
    if len(lengths) != 1 or not lengths.pop():
        return None
    sums = np.array([tick.sums for tick in ticks], dtype=np.float64)
    norms = np.array([tick.norms for tick in ticks], dtype=np.float64)
    if not (np.isfinite(sums).all() and np.isfinite(norms).all()):
        return None
    distance: np.ndarray[tuple[int], np.dtype[np.float64]] = (sums.max(axis=0) - sums.min(axis=0)) / np.maximum(
        norms.max(axis=0), 1e-30
    )
    return distance


# --- do they see different data? --------------------------------------------------------------------------------------


def _data(ranks: Sequence[Rank], steps: list[int]) -> Fact | None:
    """The same targets in the same order on all ranks, batch after batch; without a loss function of torch, the same loss."""
    if any(rank.spread not in ("replicated", "sharded") for rank in ranks):
        return None
    prints = [[rank.ticks[step].target for rank in ranks] for step in steps]
    if not any(value is not None for row in prints for value in row):
        prints = [[rank.ticks[step].loss for rank in ranks] for step in steps]
    whole = [row for row in prints if all(value is not None for value in row)]
    if len(whole) < PRINTS or len({row[0] for row in whole}) < KINDS:
        return None
    same = sum(len(set(row)) == 1 for row in whole)
    if same == len(whole):
        text = f"In all {len(whole)} steps looked at, the {len(ranks)} ranks trained on the same batch."
        return Fact("same-data-on-ranks", True, text)
    if same > len(whole) / 2:
        return None
    return Fact("same-data-on-ranks", False, f"The {len(ranks)} ranks train on different batches.")


# --- does one keep the others waiting? --------------------------------------------------------------------------------


def _times(ranks: Sequence[Rank], steps: list[int]) -> Fact | None:
    """All ranks take the same time for a step, since they wait for each other in `backward`. What they spend before it is
    their own; with shards or on a device only the wait for data is."""
    if any(rank.spread == "apart" for rank in ranks):
        return None  # nobody is known to wait for anybody
    stretches = _stretches([[rank.ticks[step] for step in steps] for rank in ranks])
    if len(stretches) < WINDOWS or sum(int(counts.min()) for counts, *_ in stretches) < TIMED:
        return None
    own_counts = all(rank.spread == "replicated" and all(tick.host for tick in rank.ticks.values()) for rank in ranks)
    votes: Counter[int] = Counter()
    for counts, whole, own, waited in stretches:
        slowest, share, _ = _slowest((own if own_counts else waited) / counts, float((whole / counts).max()))
        votes[slowest] += share >= SLOWER
    counts, whole, own, waited = (np.sum(part, axis=0) for part in zip(*stretches, strict=True))
    period = float((whole / counts).max())
    slowest, share, gap = _slowest((own if own_counts else waited) / counts, period)
    if share < EVEN or gap < LEAST_SECONDS:
        return Fact("slow-rank", False, f"No rank keeps the others waiting by more than {EVEN:.0%} of a step.")
    if share < SLOWER or votes[slowest] < MOSTLY * len(stretches):
        return None
    of_data = _behind(waited / counts, slowest)
    at = "waiting for its data" if of_data >= ITS_DATA * gap else "in its forward pass and the code around it"
    return Fact(
        "slow-rank", True,
        f"Before each exchange rank {ranks[slowest].number} takes {gap * 1e3:.0f} ms longer than the others, {at}: they wait "
        f"for it {share:.0%} of the step time ({period * 1e3:.0f} ms).",
        f"rank {ranks[slowest].number}", None, 1.0 if share >= PLAINLY_SLOWER else 0.8,
    )  # fmt: skip


Times = tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]


def _stretches(ticks: list[list[Tick]]) -> list[Times]:
    """Steps, whole time, own time and wait for data of each rank between two ticks, for those with enough steps."""
    table = np.array([[(t.steps, t.whole, t.own, t.waited) for t in of_rank] for of_rank in ticks], dtype=np.float64)
    found: list[Times] = []
    start = 0
    for _, stop in pairwise(range(table.shape[1] if table.ndim == 3 else 0)):
        part = table[:, stop] - table[:, start]
        if part[:, 0].min() >= WINDOW:
            found.append(tuple(part.T))
            start = stop
    return found


def _slowest(seconds: np.ndarray[tuple[int], np.dtype[np.float64]], period: float) -> tuple[int, float, float]:
    """The rank with the most, how much more that is than the others' middle, as a share of the step and in seconds."""
    slowest = int(np.argmax(seconds))
    gap = _behind(seconds, slowest)
    return slowest, gap / max(period, 1e-12), gap


def _behind(seconds: np.ndarray[tuple[int], np.dtype[np.float64]], rank: int) -> float:
    return float(seconds[rank] - np.median(np.delete(seconds, rank)))
