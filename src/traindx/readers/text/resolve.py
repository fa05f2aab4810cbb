"""From counters as they were printed to steps and epochs: batches inside epochs, headers, lines without a counter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traindx.readers.text.counters import Counter
from traindx.readers.text.plans import Column, Plan
from traindx.readers.text.shapes import Block, Places, Shape
from traindx.run import Floats

_ONE_MESSAGE = 0.01  # seconds that the handlers of one message may take to write it
_FEW_EPOCHS = 3  # lines that agree by chance are fewer
_MIDNIGHT = 43_200.0  # seconds a clock without a date may fall by before a new day is assumed


@dataclass(slots=True, eq=False)
class Rows:
    """The rows of one shape with their counters: `epoch` and `step` as printed or worked out, NaN where unknown."""

    shape: Shape
    plan: Plan
    block: Block
    step: Floats
    epoch: Floats
    batch: Floats
    step_total: Floats
    epoch_total: Floats
    batch_total: Floats
    item: Floats
    own_step: bool = False  # the line itself says the step; otherwise it is that of the lines before
    own_epoch: bool = False
    progress: bool = False  # the counter runs through one evaluation, not through the training
    unrolled: bool = False  # the step was made to run through the epochs
    split: NDArray[np.str_] | None = None  # the split a header before the row announced

    def __len__(self) -> int:
        return len(self.block.seq)

    def values(self, column: Column) -> Floats:
        """The values of one column of these rows."""
        place = 0
        for other in self.plan.columns:
            if other is column:
                break
            place += len(other.indices)
        numbers = self.block.values
        if column.clock:  # hours, minutes, seconds, with days before them where there are four
            total = np.zeros(len(self))
            for offset in range(len(column.clock)):
                total = total * (24 if len(column.clock) == 4 and offset == 1 else 60) + numbers[:, place + offset]
            return total
        if column.over is not None:
            with np.errstate(all="ignore"):
                return np.asarray(numbers[:, place] / numbers[:, place + 1])
        return np.asarray(numbers[:, place] * column.scale)

    def take(self, mask: NDArray[np.bool_]) -> None:
        self.block = self.block.take(mask)
        for name in ("step", "epoch", "batch", "step_total", "epoch_total", "batch_total", "item"):
            setattr(self, name, getattr(self, name)[mask])
        if self.split is not None:
            self.split = self.split[mask]


def rows_of(shape: Shape, repeats: set[int]) -> Rows:
    """The rows of a shape, those of the lowest rank only, without repeats (known by their place, or exact), counters
    apart."""
    block = shape.merged()
    if repeats:
        block = block.take(~np.isin(block.seq, list(repeats)))
    plan = shape.plan
    if len(block.seq) > 1 and np.any(np.diff(block.seq) < 0):
        order = np.argsort(block.seq, kind="stable")
        block = Block(block.seq[order], block.values[order], block.times[order], block.ranks[order])
    if (block.ranks >= 0).any():
        block = block.take(block.ranks <= block.ranks[block.ranks >= 0].min())
    block = _once(block, bool(plan.counters)) if plan.columns else block
    block = _of_one_rank(block, plan)
    place = sum(len(column.indices) for column in plan.columns)
    blank = np.full(len(block.seq), np.nan)
    found: dict[str, Floats] = {}
    for counter in plan.counters:
        found[counter.role] = block.values[:, place] * counter.scale
        place += 1
        if counter.total is not None:
            found[f"{counter.role}_total"] = block.values[:, place] * counter.scale
            place += 1
    item = block.values[:, place] if plan.item is not None else blank
    get = found.get
    return Rows(
        shape, plan, block, get("step", blank), get("epoch", blank), get("batch", blank), get("step_total", blank),
        get("epoch_total", blank), get("batch_total", blank), item, plan.step is not None, plan.epoch is not None,
    )  # fmt: skip


def _once(block: Block, counted: bool) -> Block:
    """Two log handlers print each message twice, one after the other."""
    if len(block.seq) < 2:
        return block
    same = ((block.values[1:] == block.values[:-1]) | (np.isnan(block.values[1:]) & np.isnan(block.values[:-1]))).all(
        axis=1
    )
    if counted:  # the same numbers again at another time are another measurement
        apart = np.abs(np.diff(block.times)) > _ONE_MESSAGE
        return block.take(np.append(True, ~same | apart))
    # without a counter equal neighbours are a repeat only if all rows come in pairs
    if len(block.seq) >= 4 and len(block.seq) % 2 == 0 and same[::2].all() and not same[1::2].all():
        return block.take(np.arange(len(block.seq)) % 2 == 0)
    return block


def _of_one_rank(block: Block, plan: Plan) -> Block:
    """Every process printed every step, without saying which it is: each step comes the same number of times, and the
    first one is kept."""
    if plan.step is None or not plan.objective or plan.item is not None or len(block.seq) < 4:
        return block
    place = sum(len(column.indices) for column in plan.columns)
    steps = block.values[:, place]
    starts = np.append(True, steps[1:] != steps[:-1])
    times = np.diff(np.append(np.flatnonzero(starts), len(steps)))
    usual = np.median(times)
    return block.take(starts) if usual >= 2 and len(times) >= 3 and np.mean(times == usual) > 0.9 else block


def prepare(rows: list[Rows]) -> None:
    """Tell the counters of evaluations from those of the training, and times without a date from day to day."""
    for each in rows:
        _settle_outer(each)
        _mark_progress(each)
        _last_frames(each)
        _unwrap_midnight(each)
    named = [each.epoch for each in rows if each.own_epoch and not each.own_step]
    for each in rows:
        _count_epochs(each, named)


def _settle_outer(rows: Rows) -> None:
    """Of two step counters in a line the first counts rounds only if the second starts over in each of them."""
    counter = rows.plan.epoch
    if counter is None or not counter.outer:
        return
    rises = np.flatnonzero(np.diff(rows.epoch) > 0)
    if not len(rises) or np.mean(rows.step[rises + 1] <= rows.step[rises]) < 0.8:
        rows.epoch, rows.own_epoch = np.full(len(rows), np.nan), False


def _count_epochs(rows: Rows, named: list[Floats]) -> None:
    """'Train: [3/50]' counts epochs where other lines tell of exactly these numbers as epochs; the last one may not
    have come."""
    if not rows.own_step or rows.own_epoch or len(rows) < _FEW_EPOCHS:
        return
    if any(np.array_equal(epochs, rows.step[: len(epochs)]) for epochs in named if 0 <= len(rows) - len(epochs) <= 1):
        blank = np.full(len(rows), np.nan)
        rows.epoch, rows.epoch_total, rows.step, rows.step_total = rows.step, rows.step_total, blank, blank
        rows.own_epoch, rows.own_step = True, False


def _last_frames(rows: Rows) -> None:
    """A bar is drawn several times at one count; what it said last counts."""
    if rows.plan.bar and len(rows) > 1:
        again = (rows.batch[1:] == rows.batch[:-1]) & ((rows.epoch[1:] == rows.epoch[:-1]) | np.isnan(rows.epoch[1:]))
        rows.take(np.append(~again, True))


def resolve(rows: list[Rows]) -> None:
    """Give every row its step and epoch, as far as these rows say them. What an earlier call worked out from other rows
    is forgotten first."""
    for each in rows:
        if not each.own_epoch:
            each.epoch = np.full(len(each), np.nan)
        if not each.own_step:
            each.step = np.full(len(each), np.nan)
    _carry_epochs(rows)
    for each in rows:
        _through_epochs(each, rows)
    _carry_steps(rows)


def _mark_progress(rows: Rows) -> None:
    """The batches of an evaluation are counted from the start each time; its last line is its result."""
    plan = rows.plan
    if plan.split not in ("val", "test") or not len(rows):
        return
    counter: Counter | None = plan.batch
    count = rows.batch
    if counter is None and plan.step is not None and plan.step.total is not None:
        falls = bool((np.diff(rows.step) < 0).any())
        if plan.step.rank <= 1 or falls or plan.bar or _stands(rows):
            counter, count = plan.step, rows.step
    elif counter is None and plan.step is not None and plan.item is None and _stands(rows):
        counter, count = plan.step, rows.step
    if counter is None:
        return
    rows.progress, rows.own_step = True, False
    ends = np.append(count[1:] <= count[:-1], True)
    if rows.own_epoch:
        ends[:-1] |= rows.epoch[1:] != rows.epoch[:-1]
    rows.step = np.full(len(rows), np.nan)
    rows.batch = np.full(len(rows), np.nan)
    rows.take(ends)


def _stands(rows: Rows) -> bool:
    """Whether the counter never moves: 'Iter(val) [5/5]' after each evaluation is its number of batches."""
    if np.isfinite(rows.step_total).all():
        return bool((rows.step == rows.step_total).all())
    return len(rows) > 1 and bool((rows.step == rows.step[0]).all())


def _carry_epochs(rows: list[Rows]) -> None:
    seq, order, owner = _merged(rows)
    if not len(seq):
        return
    epochs = np.concatenate([each.epoch if _counts(each) else np.full(len(each), np.nan) for each in rows])[order]
    headers = np.concatenate([_header_splits(each) for each in rows])[order]
    carried = _forward(epochs)
    splits = _carried_splits(headers, owner[order], rows)
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    start = 0
    for each in rows:
        places = back[start : start + len(each)]
        start += len(each)
        own = np.isfinite(each.epoch)
        each.epoch = np.where(own, each.epoch, carried[places])
        each.split = splits[places]


def _counts(rows: Rows) -> bool:
    """Whether this shape's counters say where the training is: 'loaded the model of epoch 3' does not."""
    return not rows.plan.stated and (bool(rows.plan.columns) or rows.plan.header)


def _header_splits(rows: Rows) -> NDArray[np.str_]:
    name: str = ""
    if rows.plan.header and not rows.plan.columns:
        name = rows.plan.split if rows.plan.split in ("val", "test") else "none"
    return np.full(len(rows), name, dtype="<U5")


def _carried_splits(headers: NDArray[np.str_], owner: Places, rows: list[Rows]) -> NDArray[np.str_]:
    """'Validation' on a line by itself names the lines after it, until another header or a training step."""
    stops = np.array(
        [
            bool(each.plan.columns) and each.plan.split == "" and (each.plan.batch or each.plan.step) is not None
            for each in rows
        ]
    )
    marks = np.where(headers != "", headers, np.where(stops[owner], "none", ""))
    known = np.flatnonzero(marks != "")
    if not len(known):
        return np.full(len(marks), "", dtype="<U5")
    last = np.searchsorted(known, np.arange(len(marks)), side="right") - 1
    carried = np.where(last >= 0, marks[known[np.maximum(last, 0)]], "")
    return np.where(carried == "none", "", carried)


def _through_epochs(rows: Rows, everyone: list[Rows]) -> None:
    """A counter that starts again every epoch becomes one that runs through all of them."""
    plan = rows.plan
    if rows.progress or len(rows) == 0:
        return
    if plan.step is not None and (plan.batch is None or plan.step.rank > 2):
        if rows.unrolled or not rows.own_epoch or not _restarts_with_epoch(rows.step, rows.epoch):
            return
        count, total = rows.step, rows.step_total
        rows.unrolled = True
    elif plan.batch is not None:
        count, total = rows.batch, rows.batch_total
    else:
        return
    length = _length(count, total)
    falls = np.append(False, np.diff(count) < 0)
    epoch = rows.epoch
    known = np.isfinite(epoch).all() and (
        not falls.any() or np.mean(epoch[falls] != epoch[np.flatnonzero(falls) - 1]) > 0.8
    )
    if known and not _runs_through(count, epoch):
        first = min((float(np.nanmin(each.epoch)) for each in everyone if np.isfinite(each.epoch).any()), default=0.0)
        # a piece of a log that begins in a later epoch: what came before it counts as well
        first = min(np.floor(first), 1.0)
        rows.step = (np.floor(epoch) - first) * length + count
    elif not known:
        rows.step = np.cumsum(falls) * length + count
    else:
        rows.step = count
    rows.own_step = True


def _length(count: Floats, total: Floats) -> float:
    if np.isfinite(total).any():
        return float(np.nanmax(total))
    top = float(np.nanmax(count)) if np.isfinite(count).any() else 1.0
    return top + (1.0 if np.nanmin(count) == 0 else 0.0)


def _restarts_with_epoch(step: Floats, epoch: Floats) -> bool:
    """Whether the step begins anew when the epoch goes up: each time, or at least whenever it falls."""
    rises, falls = np.flatnonzero(np.diff(epoch) > 0), np.flatnonzero(np.diff(step) < 0)
    if len(falls) and np.mean(epoch[falls + 1] > epoch[falls]) > 0.8:
        return True
    return bool(len(rises)) and bool(np.mean(step[rises + 1] <= step[rises]) > 0.8)


def _runs_through(count: Floats, epoch: Floats) -> bool:
    """Whether the 'batch' counter keeps growing over the epochs and so is a step already."""
    rises = np.flatnonzero(np.diff(epoch) > 0)
    return (
        bool(len(rises))
        and bool(np.mean(count[rises + 1] > count[rises]) > 0.8)
        and bool((np.diff(count) >= 0).mean() > 0.9)
    )


def _carry_steps(rows: list[Rows]) -> None:
    seq, order, _ = _merged(rows)
    if not len(seq):
        return
    steps = np.concatenate(
        [each.step if each.own_step and _counts(each) else np.full(len(each), np.nan) for each in rows]
    )[order]
    epochs = np.concatenate([each.epoch for each in rows])[order]
    printed = np.concatenate([np.full(len(each), each.own_epoch) for each in rows])[order]
    known = np.where(np.isfinite(steps), np.arange(len(steps)), -1)
    last = np.maximum.accumulate(known)
    step = np.where(last >= 0, steps[np.maximum(last, 0)], np.nan)
    # an epoch that began after the last step has no step yet
    later = np.isfinite(epochs) & (last >= 0) & printed[np.maximum(last, 0)] & (epochs > epochs[np.maximum(last, 0)])
    step[later] = np.nan
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    start = 0
    for each in rows:
        places = back[start : start + len(each)]
        start += len(each)
        if not each.own_step and _moves_along(step[places], each):
            each.step = step[places]


def _moves_along(carried: Floats, rows: Rows) -> bool:
    """Whether carried steps can be those of rows that print their own epoch: both must go on together."""
    if not rows.own_epoch:
        return True
    steps, epochs = (len(np.unique(values[np.isfinite(values)])) for values in (carried, rows.epoch))
    return 2 * steps >= epochs


def _unwrap_midnight(rows: Rows) -> None:
    units = {unit for unit, _ in rows.plan.prefix.clock}
    times = rows.block.times
    if "s" not in units or "D" in units or len(times) < 2:
        return
    days = np.cumsum(np.append(False, np.diff(times) < -_MIDNIGHT))
    rows.block.times = times + 86_400.0 * days


def _merged(rows: list[Rows]) -> tuple[Places, Places, Places]:
    """All places, the order that sorts them, and which shape each belongs to."""
    if not rows:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    seq = np.concatenate([each.block.seq for each in rows])
    owner = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    return seq, np.argsort(seq, kind="stable"), owner


def _forward(values: Floats) -> Floats:
    """Each unknown value becomes the last known one before it."""
    known = np.where(np.isfinite(values), np.arange(len(values)), -1)
    last = np.maximum.accumulate(known)
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)
