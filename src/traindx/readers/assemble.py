"""From the shapes of a text log to runs: which lines were measurements, what each series is called, what was planned."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Meaning, Split
from traindx.readers.build import RunBuilder
from traindx.readers.keys import OBJECTIVES, is_knob
from traindx.readers.plans import Column, Plan
from traindx.readers.resolve import Rows, prepare, resolve, rows_of
from traindx.readers.scan import Scanner
from traindx.run import Floats

_WINDOW = 8192  # rows handed to the builder at once
_MAX_ITEMS = 20  # 'class 7 iou': more of them are a report, not a curve
_FEW_LINES = 2000  # in a short log one line is enough to be a measurement
_FEW_WORDS = 6  # besides the names; a line with more of them is a sentence about the training
_TAIL = 0.95  # of the rows; what comes once, after them, is a final evaluation
_EPOCH_SETTINGS = frozenset(
    {"epochs", "num_epochs", "n_epochs", "max_epochs", "total_epochs", "num_train_epochs", "nepochs", "max_epoch"}
)
_STEP_SETTINGS = frozenset(
    {"max_steps", "max_iters", "train_iters", "max_iter", "total_steps", "num_training_steps", "max_update", "niter"}
)
_SPLITS: tuple[Split, ...] = ("", "train", "val", "test")


@dataclass(slots=True)
class _Stream:
    """One series to be: values at places in the file."""

    name: str
    meaning: Meaning
    seq: NDArray[np.int64]
    values: Floats
    step: Floats
    epoch: Floats
    time: Floats


def assemble(scanner: Scanner, builder: RunBuilder) -> bool:
    """Fill the builder with what the scanner found; False when nothing in it is a measurement."""
    rows = [rows_of(shape) for shape in scanner.shapes.values()]
    rows = [each for each in rows if len(each)]
    prepare(rows)
    resolve(rows)
    accepted = _measurements(rows, scanner)
    # only now is it known which counters are those of the training
    headers = [
        each for each in rows
        if each.plan.header and not each.plan.told and each not in accepted and (not each.own_step or _distinct(each.step) > 1)
    ]  # fmt: skip
    resolve([*accepted, *headers])
    _settle_format(accepted, builder)
    streams = _streams(accepted)
    _feed(streams, builder)
    _settings(scanner, rows, accepted, streams, builder)
    _events(scanner, accepted, builder)
    thinned = max((each.shape.stride for each in accepted), default=1)
    if thinned > 1:
        builder.lost.append(
            f"The log is so long that only about one row in {thinned} was kept (spikes and non-finite values always were)."
        )
    return bool(streams)


def _measurements(rows: list[Rows], scanner: Scanner) -> list[Rows]:
    """The shapes that measure the training; settings, reports and remarks are left out."""
    metric = [each for each in rows if each.plan.columns]
    counted = [
        each for each in metric
        if each.plan.objective and each.plan.counters and not each.plan.told and _few_items(each) and _counts_up(each)
    ]  # fmt: skip
    trusted = [each for each in metric if each.shape.trusted]
    main = [each for each in counted if each.shape.seen >= 2 or each.shape.trusted]
    if not main and scanner.lines < _FEW_LINES:
        main = counted
    places = (
        np.sort(np.concatenate([each.block.seq for each in [*main, *trusted]]))
        if main or trusted
        else np.empty(0, dtype=np.int64)
    )
    last = int(places[int(_TAIL * (len(places) - 1))]) if len(places) else None
    chosen = [*main, *(each for each in trusted if each not in main)]
    for each in metric:
        if each in chosen or each.plan.told or not _few_items(each):
            continue
        if each.plan.objective and not each.plan.counters and _recurs(each) and _reads_like_names(each):
            chosen.append(each)
        elif (
            last is not None
            and each.plan.objective
            and each.shape.seen <= 2
            and each.block.seq[-1] >= last
            and _is_terse(each)
        ):
            chosen.append(each)  # the final evaluation
        elif each.plan.bar and _is_named_bar(each):
            chosen.append(each)
    if not chosen:
        return _last_resort(metric)
    epochs = max(
        (int((np.diff(each.epoch[np.isfinite(each.epoch)]) != 0).sum()) for each in rows if each.own_epoch), default=0
    )
    named = [each.plan for each in chosen if each.plan.counters]
    provided = {(c.meaning.kind, c.split or c.meaning.split) for each in chosen for c in each.plan.columns}
    for each in metric:
        if each in chosen:
            continue
        if each.plan.told and each.plan.objective and each.shape.seen >= 2:
            missing = any(
                (c.meaning.kind, c.split or c.meaning.split) not in provided
                for c in each.plan.columns
                if c.meaning.kind in OBJECTIVES
            )
            if missing and _progresses(each):
                chosen.append(each)
        elif each.plan.counters and any(_most_of(each.plan, plan) for plan in named):
            chosen.append(each)  # the same line with its loss left out, as when a step was skipped
        elif (each.plan.companion or (each.plan.header and each.own_epoch)) and not each.plan.objective and _is_companion(each, epochs):
            chosen.append(each)
    return sorted(chosen, key=lambda each: int(each.block.seq[0]))


def _is_terse(rows: Rows) -> bool:
    return not rows.plan.bar and rows.plan.prose <= _FEW_WORDS and _reads_like_names(rows)


def _reads_like_names(rows: Rows) -> bool:
    """'Accuracy of the network on the test images' is a name, 'Calculate the cost of the notebooks' a sentence: long
    names say which data they speak of."""
    return all(len(column.name.split()) <= 3 or column.meaning.split or column.split for column in rows.plan.columns)


def _is_named_bar(rows: Rows) -> bool:
    """What a progress bar shows beside its count is a measurement, whatever it is called."""
    return len(rows) >= 10 and any(
        _is_fraction(value_of(rows, column)) for column in rows.plan.columns if column.meaning.kind == "other"
    )


def _is_companion(rows: Rows, epochs: int) -> bool:
    """A learning rate or a norm on a line by itself: it must go along with the training, unlike a setting that is printed
    at every start."""
    if rows.shape.seen < 3 or all(is_knob(column.name) for column in rows.plan.columns):
        return False
    if not rows.plan.counters and rows.shape.seen < 0.3 * epochs:
        return False
    moments = max(_distinct(rows.epoch), _distinct(rows.step))
    moving = any(_distinct(value_of(rows, column)) > 1 for column in rows.plan.columns)
    return moments >= 5 or (moments >= 3 and moving)


def _distinct(values: Floats) -> int:
    return len(np.unique(values[np.isfinite(values)]))


def _counts_up(rows: Rows) -> bool:
    """'0 train 10.9' opens with its step, '3 notebooks cost 12' does not: a bare number that opens a line must count."""
    counters = rows.plan.counters
    if rows.shape.trusted or any(counter.rank != 1 or counter.total is not None for counter in counters):
        return True
    return _distinct(rows.step) >= 3 and bool((np.diff(rows.step) >= 0).mean() > 0.7)


def _most_of(some: Plan, whole: Plan) -> bool:
    """Whether a line is another one with a few names left out."""
    few, names = ({column.name for column in plan.columns} for plan in (some, whole))
    alike = [counter.role for counter in some.counters] == [counter.role for counter in whole.counters]
    return alike and few < names and 2 * len(few) >= len(names) > 2


def _few_items(rows: Rows) -> bool:
    return rows.plan.item is None or len(np.unique(rows.item)) <= _MAX_ITEMS


def _recurs(rows: Rows) -> bool:
    """Lines without a counter of their own: they must come back, and something must move between them. Settings that
    every rank prints come back too, but nothing moves."""
    if rows.shape.seen < 3:
        return False
    objective = [column for column in rows.plan.columns if column.meaning.kind in OBJECTIVES]
    moving = any(len(np.unique(value_of(rows, column))) > 1 for column in objective)
    return moving or _progresses(rows)


def _progresses(rows: Rows) -> bool:
    """Whether the training went on between these lines."""
    return _distinct(rows.epoch) >= 3 or _distinct(rows.step) >= 3


def _last_resort(metric: list[Rows]) -> list[Rows]:
    """No known name anywhere: then what a counting line calls its fractions is taken at its word."""
    return [
        each
        for each in metric
        if each.plan.counters and each.shape.seen >= 5 and not each.plan.told and each.plan.item is None
        and any(_is_fraction(value_of(each, column)) and not is_knob(column.name) and column.meaning.kind in ("other", "kl", "entropy")
                for column in each.plan.columns)
    ]  # fmt: skip


def _is_fraction(values: Floats) -> bool:
    finite = values[np.isfinite(values)]
    return bool(len(finite)) and bool((finite != np.round(finite)).mean() > 0.5) and len(np.unique(finite)) > 2


def value_of(rows: Rows, column: Column) -> Floats:
    """The values of one column."""
    place = 0
    for other in rows.plan.columns:
        if other is column:
            break
        place += len(other.indices)
    values = rows.block.values
    if column.clock:
        total = np.zeros(len(rows))
        for offset in range(len(column.clock)):
            total = total * (24 if len(column.clock) == 4 and offset == 1 else 60) + values[:, place + offset]
        return total
    if column.over is not None:
        with np.errstate(all="ignore"):
            return np.asarray(values[:, place] / values[:, place + 1])
    return np.asarray(values[:, place] * column.scale)


def _streams(accepted: list[Rows]) -> list[_Stream]:
    """One stream a name. The same name at another pace (batches, epochs), or said again of the same moment by another
    line, is another series."""
    owners: dict[str, tuple[str, Rows]] = {}
    spelled: dict[str, str] = {}
    streams: list[_Stream] = []
    stepping = {column.name.lower() for rows in accepted if rows.own_step for column in rows.plan.columns}
    for rows in accepted:
        pace = "step" if rows.own_step else "epoch" if rows.own_epoch else "none"
        evaluates = pace == "none" and _evaluates(rows, stepping)
        for column in rows.plan.columns:
            if column.meaning.kind in ("stamp", "step", "epoch"):
                continue
            values = value_of(rows, column)
            for split, item, mask in _parts(rows, column, evaluates):
                name = (
                    column.name
                    if item is None or rows.plan.item is None
                    else f"{rows.plan.item[0]} {item:g} {column.name}"
                )
                name, meaning = _named(name, column.meaning, split)
                owner = owners.setdefault(name.lower(), (pace, rows))
                if meaning.kind not in ("lr", "memory", "loss_scale") and owner[1] is not rows:
                    if owner[0] != pace:
                        name, meaning = _at_other_pace(name, meaning, pace, owner[0])
                    elif meaning.kind not in OBJECTIVES and _same_moments(rows, owner[1]):
                        continue  # the same line's time or speed, printed once per metric
                    elif _same_moments(rows, owner[1]):
                        name = (
                            f"{rows.plan.label} {name}"
                            if rows.plan.label not in ("", owner[1].plan.label)
                            else f"{name} (2)"
                        )
                name = spelled.setdefault(name.lower(), name)
                streams.append(
                    _Stream(
                        name,
                        meaning,
                        rows.block.seq[mask],
                        values[mask],
                        rows.step[mask],
                        rows.epoch[mask],
                        rows.block.times[mask],
                    )
                )
    return streams


def _evaluates(rows: Rows, stepping: set[str]) -> bool:
    """A line without counters that repeats the name of the training's loss and adds scores the training does not print
    is the result of an evaluation."""
    names = {column.name.lower() for column in rows.plan.columns if column.meaning.kind in OBJECTIVES}
    scores = {column.name.lower() for column in rows.plan.columns if column.meaning.kind == "score"}
    return bool(names & stepping) and bool(scores) and not scores & stepping


def _same_moments(rows: Rows, owner: Rows) -> bool:
    """Whether two kinds of line speak of the same steps: then they measure different things under one name."""
    for mine, theirs in ((rows.step, owner.step), (rows.epoch, owner.epoch)):
        if np.isfinite(mine).all() and np.isfinite(theirs).any():
            return bool(np.isin(mine, theirs).mean() > 0.5)
    return rows.plan.label != owner.plan.label


def _parts(rows: Rows, column: Column, evaluates: bool) -> list[tuple[Split, float | None, NDArray[np.bool_]]]:
    """The rows of a column by the data and the item they speak of."""
    everything = np.ones(len(rows), dtype=bool)
    split = column.split or (rows.plan.split if not column.meaning.split else "")
    if evaluates and not split and not column.meaning.split:
        split = "val"
    splits: list[tuple[Split, NDArray[np.bool_]]] = [(split, everything)]
    if not split and not column.meaning.split and rows.split is not None and not rows.own_step:
        splits = [(each, rows.split == each) for each in _SPLITS if (rows.split == each).any()]
    if rows.plan.item is None:
        return [(each, None, mask) for each, mask in splits]
    items = np.unique(rows.item[np.isfinite(rows.item)])
    return [(each, float(item), mask & (rows.item == item)) for each, mask in splits for item in items]


def _named(name: str, meaning: Meaning, split: Split) -> tuple[str, Meaning]:
    if not split or meaning.split or meaning.kind in ("lr", "memory", "loss_scale"):
        return name, meaning
    return f"{split}/{name}", replace(meaning, split=split)


def _at_other_pace(name: str, meaning: Meaning, pace: str, owner: str) -> tuple[str, Meaning]:
    if pace == "epoch":
        return f"{name}_epoch", replace(meaning, scale="epoch")
    if pace == "step":
        return f"{name}_step", replace(meaning, scale="step")
    if owner == "epoch":
        return name, meaning
    return f"{name} (summary)", replace(meaning, part=meaning.part or "summary")


def _feed(streams: list[_Stream], builder: RunBuilder) -> None:
    """Hand the streams to the builder in file order, as tables of a few thousand rows. Streams that hold the same
    places are columns of one table."""
    for stream in streams:
        builder.declare(stream.name, stream.meaning)
    if not streams:
        return
    places, first = np.unique(np.concatenate([stream.seq for stream in streams]), return_index=True)
    gather = {
        part: np.concatenate([getattr(stream, part) for stream in streams])[first] for part in ("step", "epoch", "time")
    }
    timed = bool(np.isfinite(gather["time"]).any())
    for start in range(0, len(places), _WINDOW):
        window = places[start : start + _WINDOW]
        columns: dict[str, Floats] = {}
        present: dict[str, NDArray[np.bool_]] = {}
        for stream in streams:
            low, high = np.searchsorted(stream.seq, [window[0], window[-1] + 1])
            if low == high:
                continue
            at = np.searchsorted(window, stream.seq[low:high])
            values = columns.setdefault(stream.name, np.full(len(window), np.nan))
            mask = present.setdefault(stream.name, np.zeros(len(window), dtype=bool))
            values[at], mask[at] = stream.values[low:high], True
        part = slice(start, start + len(window))
        builder.table(
            columns,
            present,
            step=gather["step"][part],
            epoch=gather["epoch"][part],
            time=gather["time"][part] if timed else None,
        )


def _settle_format(accepted: list[Rows], builder: RunBuilder) -> None:
    """A log read by the general reader is called by the dialect that most of it is written in."""
    counts: dict[str, int] = {}
    for rows in accepted:
        if rows.shape.dialect:
            counts[rows.shape.dialect] = counts.get(rows.shape.dialect, 0) + len(rows)
    total = sum(len(rows) for rows in accepted)
    if counts and builder.format == "text":
        name, count = max(counts.items(), key=lambda pair: pair[1])
        if count > total / 2:
            builder.format = name


def _settings(
    scanner: Scanner, rows: list[Rows], accepted: list[Rows], streams: list[_Stream], builder: RunBuilder
) -> None:
    """Settings that were printed, and how far the training was to go: `planned_steps`, `planned_epochs`."""
    measured = {stream.name.lower() for stream in streams} | {
        c.name.lower().replace(" ", "_") for r in accepted for c in r.plan.columns
    }
    for name, value in scanner.settings.items():
        if name.lower() not in measured:
            builder.config.setdefault(name, value)
    for each in rows:
        if each.plan.told or each.progress or not (each in accepted or each.plan.header):
            continue
        epochs, steps, batches = (_last(total) for total in (each.epoch_total, each.step_total, each.batch_total))
        if epochs is not None:
            builder.config["planned_epochs"] = epochs
        within = each.unrolled or epochs is not None
        training = each.plan.objective or (not each.plan.columns and _distinct(each.step) > 1)
        if steps is not None and not within and training and each.plan.split not in ("val", "test"):
            builder.config["planned_steps"] = steps
        elif steps is not None and each.own_epoch:
            builder.config["steps_per_epoch"] = steps
        if batches is not None and each.own_epoch:
            builder.config["steps_per_epoch"] = batches
    builder.config.update(scanner.planned)
    for key, names in (("planned_epochs", _EPOCH_SETTINGS), ("planned_steps", _STEP_SETTINGS)):
        for name, value in scanner.settings.items():
            if key not in builder.config and name.lower() in names and isinstance(value, int | float) and value > 0:
                builder.config[key] = float(value)
    if "planned_steps" not in builder.config and "planned_epochs" not in builder.config:
        _plan_from_eta(accepted, builder)


def _plan_from_eta(accepted: list[Rows], builder: RunBuilder) -> None:
    """The time that was left at the end, at the last pace, is the steps that were left."""
    for rows in accepted:
        eta = next(
            (c for c in rows.plan.columns if re.match(r"eta|remaining", c.name, re.IGNORECASE) and c.clock), None
        )
        pace = next((c for c in rows.plan.columns if c.meaning.kind == "step_time"), None)
        if eta is None or pace is None or not rows.own_step:
            continue
        left, seconds = float(value_of(rows, eta)[-1]), float(np.nanmedian(value_of(rows, pace)[-50:]))
        seconds = seconds / 1000 if pace.meaning.part == "ms" else seconds
        if np.isfinite(left) and seconds > 0 and np.isfinite(rows.step[-1]):
            builder.config["planned_steps"] = float(np.round(rows.step[-1] + left / seconds))


def _last(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if len(finite) else None


def _events(scanner: Scanner, accepted: list[Rows], builder: RunBuilder) -> None:
    seq = np.concatenate([rows.block.seq for rows in accepted]) if accepted else np.empty(0, dtype=np.int64)
    steps = np.concatenate([rows.step for rows in accepted]) if accepted else np.empty(0)
    order = np.argsort(seq, kind="stable")
    for place, event in scanner.events.found:
        at = int(np.searchsorted(seq[order], place, side="right")) - 1
        step = float(steps[order][at]) if at >= 0 and np.isfinite(steps[order][at]) else None
        builder.events.append(replace(event, step=step))
