"""What `Train`, `Val` and `Test` mean where a log gives them beside a loss: `Loss: 0.41, Train: 0.93, Val: 0.86` are
two scores. The name says only on which data, so the loss beside them and their values decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from traindx.meaning import says_only_the_split, tokens_of
from traindx.run import Floats, Series
from traindx.thresholds import Threshold

WHOLE = Threshold(1.0, "the largest value of a share", "a share of the samples", side="below")
PERCENT = Threshold(100.0, "the largest value in percent", "a share of the samples", side="below")
FEWEST = Threshold(3, "values", "two have a direction by chance")
TOGETHER = Threshold(
    0.5, "rank correlation with the loss beside it", "a loss on other data falls with it; scores rise as it falls"
)


def with_scores(found: Iterable[Series]) -> list[Series]:
    """The same series; those that are named by their data alone, lie between 0 and 1 (or 100), and do not fall with a
    loss that is named so are scores."""
    series = list(found)
    losses = [one for one in series if _is_named_loss(one)]
    bare = [one for one in series if _is_bare(one)]
    if not losses or not bare or not all(map(_is_share, bare)):
        return series
    loss = max(losses, key=len)
    if any(_fall_together(one, loss) for one in bare):
        return series
    return [_as_score(one) if _is_bare(one) else one for one in series]


def _is_bare(one: Series) -> bool:
    return one.meaning.kind == "loss" and len(one) > 0 and says_only_the_split(one.name)


def _is_named_loss(one: Series) -> bool:
    own = one.meaning.kind == "loss" and not says_only_the_split(one.name) and one.meaning.part != "superseded"
    return own and len(one) > 0 and any("loss" in word for word in tokens_of(one.name))


def _is_share(one: Series) -> bool:
    known = one.values[np.isfinite(one.values)]
    if not len(known) or known.min() < 0:
        return False
    return WHOLE.reached(float(known.max())) or PERCENT.reached(float(known.max()))


def _fall_together(one: Series, loss: Series) -> bool:
    """Whether both rise and fall at the same places."""
    at = np.searchsorted(loss.steps, one.steps, side="right") - 1
    losses = loss.values[np.maximum(at, 0)]
    known = np.isfinite(one.values) & np.isfinite(losses)
    ranks = [_ranks(values[known]) for values in (one.values, losses)]
    if not FEWEST.reached(int(known.sum())) or not all(rank.std() for rank in ranks):
        return False
    return TOGETHER.reached(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))


def _ranks(values: Floats) -> Floats:
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = (np.cumsum(counts) - (counts - 1) / 2.0)[places]
    return middle


def _as_score(one: Series) -> Series:
    return replace(one, meaning=replace(one.meaning, kind="score", goal="max"))
