"""What the ranks of one distributed training measured, side by side. Each has written its own at the same steps;
nothing was exchanged while the training ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from traindx.measurements import Measurement, RankLayout, RankStep
from traindx.run import Run


@dataclass(frozen=True)
class Rank:
    """`names` are the parameters whose fingerprints the steps hold, `spread` is how the model is spread over the
    ranks."""

    number: int
    spread: str
    names: tuple[str, ...]
    steps: Mapping[int, RankStep]


def ranks_of(run: Run) -> list[Rank]:
    """The ranks that can be compared: all of them, or none where one has measured nothing."""
    layouts: dict[int, RankLayout] = {}
    steps: dict[int, list[RankStep]] = {}
    for measured in run.measured:
        layouts.update({one.rank: one for one in measured.all(RankLayout)})
        for one in measured.all(RankStep):
            steps.setdefault(one.rank, []).append(one)
    if len(steps) < max(2, len(run.measured)):
        return []
    return [_rank(number, layouts.get(number), steps[number]) for number in sorted(steps)]


def _rank(number: int, layout: RankLayout | None, steps: list[RankStep]) -> Rank:
    if layout is None:
        return Rank(number, "", (), {one.step: one for one in steps})
    # fingerprints of other parameters do not compare
    return Rank(number, layout.spread, layout.names, {one.step: one for one in steps if one.step >= layout.step})


def shared_steps(ranks: Sequence[Rank]) -> list[int]:
    return sorted(set.intersection(*(set(rank.steps) for rank in ranks))) if ranks else []


# --- cases ------------------------------------------------------------------------------------------------------------


def measured_by(
    steps: Iterable[RankStep], spread: str = "replicated", names: tuple[str, ...] = ("0.weight", "0.bias")
) -> tuple[Measurement, ...]:
    """What ranks measure, for a case: the layout of each rank before its steps."""
    every = tuple(steps)
    return (
        *(RankLayout(rank=rank, spread=spread, names=names) for rank in sorted({one.rank for one in every})),
        *every,
    )
