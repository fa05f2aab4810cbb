"""Which kinds of line measure the training, and which are settings, reports and remarks.

The surest are lines that count and name an objective, and come back. Around them others are accepted one by one: lines
without a counter that recur while something moves, the final evaluation, a learning rate on a line by itself.
"""

from __future__ import annotations

import numpy as np

from traindx.readers.text.keys import is_knob
from traindx.readers.text.plans import Plan
from traindx.readers.text.resolve import Rows
from traindx.run import Floats

_MAX_ITEMS = 20  # 'class 7 iou': more of them are a report, not a curve
_FEW_LINES = 2000  # in a short log one line is enough to be a measurement
_FEW_WORDS = 6  # besides the names; a line with more of them is a sentence about the training
_TAIL = 0.95  # of the rows; what comes once, after them, is a final evaluation
_SPLIT_WORDS = frozenset({"train", "training", "val", "valid", "validation", "eval", "test", "testing", "dev"})
_COMPARED = 50  # kinds of line, the most frequent, that a line may be a shorter form of


def measurements(rows: list[Rows], lines: int) -> list[Rows]:
    """The rows that measure, in the order in which they begin; `lines` is the length of the log."""
    metric = [each for each in rows if each.plan.columns and not _only_numbers_items(each)]
    main = _main(metric, lines)
    chosen = {id(each): each for each in main}
    tail = _tail(main)
    for each in metric:
        if (
            not each.plan.stated
            and _few_items(each)
            and (_recurs(each) or _is_final(each, tail) or _is_named_bar(each))
        ):
            chosen.setdefault(id(each), each)
    if not chosen:
        for alone in (_tells_alone, _counts_fractions, _has_gradients):
            if found := [each for each in metric if alone(each)]:
                return found
        return []
    for each in _company([each for each in metric if id(each) not in chosen], list(chosen.values()), rows):
        chosen[id(each)] = each
    return sorted(chosen.values(), key=lambda each: int(each.block.seq[0]))


def _main(metric: list[Rows], lines: int) -> list[Rows]:
    """Lines that count and name an objective, and what dialects have read."""
    counted = [
        each for each in metric
        if each.plan.objective and each.plan.counters and not each.plan.stated and _few_items(each) and _counts_up(each)
    ]  # fmt: skip
    main = [each for each in metric if each.shape.trusted]
    main += [each for each in counted if each.shape.seen >= 2 and not each.shape.trusted]
    if lines < _FEW_LINES and not any(each.plan.objective for each in main):
        main += [each for each in counted if each not in main]
    return main


def _company(others: list[Rows], chosen: list[Rows], rows: list[Rows]) -> list[Rows]:
    """Lines that belong to the chosen ones: shorter forms of them, quantities beside them, and remarks that repeat a
    measurement which no other line gives."""
    changes = (int((np.diff(each.epoch[np.isfinite(each.epoch)]) != 0).sum()) for each in rows if each.own_epoch)
    epochs = max(changes, default=0)
    longest = sorted((each for each in chosen if each.plan.counters), key=lambda each: -each.shape.seen)[:_COMPARED]
    provided = {(column.meaning.kind, column.data) for each in chosen for column in each.plan.columns}
    found: list[Rows] = []
    for each in others:
        plan = each.plan
        if plan.stated:
            missing = any((c.meaning.kind, c.data) not in provided for c in plan.columns if c.objective)
            belongs = missing and each.shape.seen >= 2 and _progresses(each)
        elif plan.counters and any(_is_short_for(plan, other.plan) for other in longest):
            belongs = True
        else:
            secondary = plan.companion or (plan.header and each.own_epoch)
            belongs = secondary and not plan.objective and _goes_along(each, epochs)
        if belongs:
            found.append(each)
    return found


def _tells_alone(rows: Rows) -> bool:
    """'Saved the model at epoch 3 with loss 0.2': a remark, but where nothing else is logged it is the curve."""
    plan = rows.plan
    return plan.stated and plan.objective and bool(plan.counters) and rows.shape.seen >= 3 and _progresses(rows)


def _has_gradients(rows: Rows) -> bool:
    """Megatron leaves the loss out of lines whose update was skipped: a training that skips them all logs its gradient
    norm and no loss."""
    kinds = {column.meaning.kind for column in rows.plan.columns}
    return (
        "grad_norm" in kinds
        and bool(rows.plan.counters)
        and not rows.plan.stated
        and _counts_up(rows)
        and _progresses(rows)
    )


def _only_numbers_items(rows: Rows) -> bool:
    """'Test 001_x2', 'Test 002_x2': behind the bare name of a split stands a loss, and a loss is no whole number."""
    columns = [column for column in rows.plan.columns if column.objective]
    bare = all(column.name.lower() in _SPLIT_WORDS for column in columns)
    return bool(columns) and bare and len(rows) >= 3 and all(_is_whole(rows.values(column)) for column in columns)


def distinct(values: Floats) -> int:
    """How many different finite values there are."""
    return len(np.unique(values[np.isfinite(values)]))


def _few_items(rows: Rows) -> bool:
    return rows.plan.item is None or len(np.unique(rows.item)) <= _MAX_ITEMS


def _counts_up(rows: Rows) -> bool:
    """'0 train 10.9' opens with its step, '3 notebooks cost 12' does not: a bare number that opens a line must
    count."""
    if rows.shape.trusted or any(counter.rank != 1 or counter.total is not None for counter in rows.plan.counters):
        return True
    return distinct(rows.step) >= 3 and bool((np.diff(rows.step) >= 0).mean() > 0.7)


def _recurs(rows: Rows) -> bool:
    """Lines without a counter of their own: they must come back, and something must move between them. Settings that
    every rank prints come back too, but nothing moves."""
    if rows.plan.counters or not rows.plan.objective or rows.shape.seen < 3 or not _reads_like_names(rows):
        return False
    values = [rows.values(column) for column in rows.plan.columns if column.objective]
    moving = any(len(np.unique(each)) > 1 for each in values)
    broken = any(bool(np.isnan(each).all()) for each in values)  # no setting is NaN
    return moving or broken or _progresses(rows)


def _progresses(rows: Rows) -> bool:
    """Whether the training went on between these lines."""
    return distinct(rows.epoch) >= 3 or distinct(rows.step) >= 3


def _tail(main: list[Rows]) -> int | None:
    """The place in the file after which next to nothing of the main lines comes."""
    if not main:
        return None
    places = np.sort(np.concatenate([each.block.seq for each in main]))
    return int(places[int(_TAIL * (len(places) - 1))])


def _is_final(rows: Rows, tail: int | None) -> bool:
    """A result that is printed once, when all is done."""
    late = tail is not None and int(rows.block.seq[-1]) >= tail
    terse = not rows.plan.bar and rows.plan.prose <= _FEW_WORDS and _reads_like_names(rows)
    return late and terse and rows.plan.objective and rows.shape.seen <= 2


def _reads_like_names(rows: Rows) -> bool:
    """'Accuracy of the network on the test images' is a name, 'Calculate the cost of the notebooks' a sentence: long
    names say which data they speak of."""
    return all(len(column.name.split()) <= 3 or column.data for column in rows.plan.columns)


def _is_named_bar(rows: Rows) -> bool:
    """What a progress bar shows beside its count is a measurement, whatever it is called."""
    if not rows.plan.bar or len(rows) < 10:
        return False
    return any(_is_fraction(rows.values(column)) for column in rows.plan.columns if column.meaning.kind == "other")


def _counts_fractions(rows: Rows) -> bool:
    """The last resort, where no known name is anywhere: what a counting line calls its fractions."""
    if not rows.plan.counters or rows.shape.seen < 5 or rows.plan.stated or rows.plan.item is not None:
        return False
    unknown = [c for c in rows.plan.columns if c.meaning.kind in ("other", "kl", "entropy") and not is_knob(c.name)]
    return any(_is_fraction(rows.values(column)) for column in unknown)


def _is_whole(values: Floats) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite)) and bool((finite == np.round(finite)).all())


def _is_fraction(values: Floats) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite)) and bool((finite != np.round(finite)).mean() > 0.5) and len(np.unique(finite)) > 2


def _is_short_for(some: Plan, whole: Plan) -> bool:
    """Whether a line is another one with a few names left out, as when a step was skipped and there is no loss."""
    few, names = ({column.name for column in plan.columns} for plan in (some, whole))
    alike = [counter.role for counter in some.counters] == [counter.role for counter in whole.counters]
    return alike and few < names and 2 * len(few) >= len(names) > 2


def _goes_along(rows: Rows, epochs: int) -> bool:
    """A learning rate or a norm on a line by itself: it must go along with the training, unlike a setting that is
    printed at every start."""
    if rows.shape.seen < 3 or all(is_knob(column.name) for column in rows.plan.columns):
        return False
    if not rows.plan.counters and rows.shape.seen < 0.3 * epochs:
        return False
    moments = max(distinct(rows.epoch), distinct(rows.step))
    moving = any(distinct(rows.values(column)) > 1 for column in rows.plan.columns)
    return moments >= 5 or (moments >= 3 and moving)
