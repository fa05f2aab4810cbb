"""What a training printed while it was recorded: the same engine as for logs, but each line is known to stand after so
many updates, whatever it counts itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from traindx.bare_names import with_scores
from traindx.readers.text.assemble import series_of
from traindx.readers.text.before_after import before_and_after, of_one_moment
from traindx.readers.text.lines import tidy
from traindx.readers.text.scan import Scanner
from traindx.readers.text.tokens import NUMBER, NUMBER_WITH_COMMA, uses_decimal_comma
from traindx.run import Floats, Series

HEAD = 1 << 16  # characters by which a decimal comma is recognised
_JUDGED = frozenset({"score", "error", "perplexity", "likelihood", "reward"})
_HELD_OUT = ("val", "test")
ALIKE = math.log(1.5)  # a mean over an epoch and the mean of its batches, the last of which may be short
COMPARABLE = math.log(3.0)  # held-out and training loss of a model that has hardly begun
FIRST = 3  # values


def printed_series(lines: Sequence[tuple[float, str]]) -> list[Series]:
    """The series in these lines, given with the updates made before each."""
    clean = [tidy(text).replace("\n", " ") for _, text in lines]
    whole = "\n".join(clean)
    pattern = NUMBER_WITH_COMMA if uses_decimal_comma(whole[:HEAD]) else NUMBER
    scanner = Scanner(pattern)
    scanner.feed(whole)
    scanner.close()
    # the first number of each line, among those of the whole text
    starts = np.cumsum([0, *(len(pattern.findall(text)) for text in clean)])[:-1]
    steps = np.array([step for step, _ in lines], dtype=np.float64)

    def at(places: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Floats:
        found: Floats = steps[np.maximum(np.searchsorted(starts, places, side="right") - 1, 0)]
        return found

    found = with_scores(series_of(scanner, at))
    placed = [(step, text) for (step, _), text in zip(lines, clean, strict=True)]
    pairs = before_and_after(placed)
    if not pairs:
        return found
    taken = {one.name.lower() for one in pairs}
    return [one for one in found if one.name.lower() not in taken and not of_one_moment(one)] + pairs


def added(recorded: Mapping[str, Series], printed: Sequence[Series]) -> dict[str, Series]:
    """Of what was printed, what the recording has not measured itself: scores, returns, and losses of held-out data
    where it has none and these are of the same scale as the loss that it recorded."""
    held_out = any(one.meaning.kind == "loss" and one.meaning.split in _HELD_OUT for one in recorded.values())
    rewards = any(one.meaning.kind == "reward" for one in recorded.values())
    names = {name.lower() for name in recorded}
    kept: dict[str, Series] = {}
    for one in printed:
        kind = one.meaning.kind
        if not len(one) or one.name.lower() in names or (rewards and kind == "reward"):
            continue
        new_loss = kind == "loss" and one.meaning.split in _HELD_OUT and not held_out
        if kind in _JUDGED or (new_loss and _on_one_scale(one, recorded, printed)):
            kept[one.name] = one
    return kept


def _on_one_scale(held_out: Series, recorded: Mapping[str, Series], printed: Sequence[Series]) -> bool:
    """Whether a printed loss may be compared with the recorded one: sums over an epoch, other terms and other units may
    not. The training loss printed beside it tells; where there is none, how the two begin."""
    losses = [one for one in recorded.values() if _is_training_loss(one)]
    if not losses:
        return True
    train = max(losses, key=len)
    training = [one for one in printed if _is_training_loss(one)]
    if training:
        return any(_apart(one, train) <= ALIKE for one in training)
    return _apart(held_out, train, FIRST) <= COMPARABLE


def _is_training_loss(one: Series) -> bool:
    return one.meaning.kind == "loss" and one.meaning.split in ("", "train") and not one.meaning.part and len(one) > 0


def _apart(one: Series, train: Series, first: int | None = None) -> float:
    """How far apart two losses stand, in the median of these values: log of the ratio, without its sign. Each printed
    value is compared with the mean since the one before it."""
    ends = np.searchsorted(train.steps, one.steps[:first], side="left")
    begins = np.concatenate([[0], ends[:-1]])
    ratios = [
        float(np.log(value / mean))
        for begin, end, value in zip(begins, ends, one.values[:first], strict=True)
        if end > begin and value > 0 and (mean := float(np.nanmean(train.values[begin:end]))) > 0
    ]
    return abs(float(np.median(ratios))) if ratios else np.inf
