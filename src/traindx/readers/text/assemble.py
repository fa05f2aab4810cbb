"""From the shapes of a text log to runs: what each series is called, what was planned, what happened."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Meaning, Split
from traindx.readers.build import RunBuilder
from traindx.readers.text.events import complaint_in
from traindx.readers.text.keys import OBJECTIVES
from traindx.readers.text.plans import Column
from traindx.readers.text.resolve import Rows, prepare, resolve, rows_of
from traindx.readers.text.scan import Scanner
from traindx.readers.text.verdict import distinct, measurements
from traindx.readers.timeline import ordered
from traindx.run import CRASHES, ENDS, Event, Floats, Series
from traindx.versions import as_settings

_WINDOW = 8192  # rows handed to the builder at once
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
    rows, accepted = _accepted(scanner)
    _settle_format(accepted, builder)
    streams = _streams(accepted)
    places = _feed(streams, builder)
    _settings(scanner, rows, accepted, streams, builder)
    _events(scanner, accepted, places, builder)
    builder.config.update(as_settings(scanner.statements.versions))
    builder.said = tuple(scanner.statements.complaints)
    thinned = max((each.shape.stride for each in accepted), default=1)
    if thinned > 1:
        builder.lost.append(
            f"The log is so long that only about one row in {thinned} was kept (spikes and non-finite values always "
            f"were)."
        )
    return bool(streams)


def series_of(scanner: Scanner, at: Callable[[NDArray[np.int64]], Floats]) -> list[Series]:
    """What the text measures, each value at the step that `at` gives for its place among the numbers of the text."""
    found = []
    for stream in _streams(_accepted(scanner)[1]):
        series, _ = ordered(stream.name, stream.meaning, at(stream.seq // 2), stream.values, "step", None)
        found.append(series)
    return found


def _accepted(scanner: Scanner) -> tuple[list[Rows], list[Rows]]:
    """All rows, and those that measure."""
    rows = [rows_of(shape, scanner.repeats) for shape in scanner.shapes.values()]
    rows = [each for each in rows if len(each)]
    prepare(rows)
    resolve(rows)
    accepted = measurements(rows, scanner.lines)
    # only now is it known which counters are those of the training
    headers = [
        each
        for each in rows
        if each.plan.header
        and not each.plan.stated
        and each not in accepted
        and (not each.own_step or distinct(each.step) > 1)
    ]
    resolve([*accepted, *headers])
    return rows, accepted


def _streams(accepted: list[Rows]) -> list[_Stream]:
    """One stream for each name, split and item of the accepted rows."""
    names = _Names()
    streams: list[_Stream] = []
    stepping = {column.name.lower() for rows in accepted if rows.own_step for column in rows.plan.columns}
    for rows in accepted:
        evaluates = _pace(rows) == "none" and _evaluates(rows, stepping)
        for column in rows.plan.columns:
            if column.meaning.kind in ("stamp", "step", "epoch"):
                continue
            values = rows.values(column)
            for split, item, mask in _parts(rows, column, evaluates):
                named = names.give(rows, column, split, item)
                if named is None:
                    continue
                seq, times = rows.block.seq[mask], rows.block.times[mask]
                streams.append(_Stream(*named, seq, values[mask], rows.step[mask], rows.epoch[mask], times))
    return streams


class _Names:
    """Gives every stream its name. The same name at another pace (batches, epochs), or said again of the same moment by
    another line, is another series."""

    def __init__(self) -> None:
        self.owners: dict[str, Rows] = {}
        self.spelled: dict[str, str] = {}

    def give(self, rows: Rows, column: Column, split: Split, item: float | None) -> tuple[str, Meaning] | None:
        """The name and its meaning; None when the column only repeats what another line says."""
        bare = column.name
        if item is not None and rows.plan.item is not None:
            bare = f"{rows.plan.item[0]} {item:g} {bare}"
        name, meaning = _named(bare, column.meaning, split)
        owner = self.owners.setdefault(name.lower(), rows)
        if owner is not rows and meaning.kind not in ("lr", "memory", "loss_scale"):
            if _pace(owner) != _pace(rows):
                name, meaning = _at_other_pace(name, meaning, _pace(rows), _pace(owner))
            elif _same_moments(rows, owner):
                if meaning.kind not in OBJECTIVES:
                    return None
                apart = rows.plan.label not in ("", owner.plan.label)
                name, meaning = _named(f"{rows.plan.label} {bare}" if apart else f"{bare} (2)", column.meaning, split)
        return self.spelled.setdefault(name.lower(), name), meaning


def _pace(rows: Rows) -> str:
    return "step" if rows.own_step else "epoch" if rows.own_epoch else "none"


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


def _feed(streams: list[_Stream], builder: RunBuilder) -> NDArray[np.int64]:
    """Hand the streams to the builder in file order, as tables of a few thousand rows. Streams that hold the same
    places are columns of one table. Gives the place in the file of each row."""
    for stream in streams:
        builder.declare(stream.name, stream.meaning)
    if not streams:
        return np.empty(0, dtype=np.int64)
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
    return places


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
        if not each.plan.stated and not each.progress and (each in accepted or each.plan.header):
            _planned_totals(each, builder)
    builder.config.update(scanner.planned)
    for key, names in (("planned_epochs", _EPOCH_SETTINGS), ("planned_steps", _STEP_SETTINGS)):
        stated = [value for name, value in scanner.settings.items() if name.lower() in names]
        planned = next((value for value in stated if isinstance(value, int | float) and value > 0), None)
        if key not in builder.config and planned is not None:
            builder.config[key] = float(planned)
    if "planned_steps" not in builder.config and "planned_epochs" not in builder.config:
        _plan_from_eta(accepted, builder)


def _planned_totals(rows: Rows, builder: RunBuilder) -> None:
    """The totals that stand beside counters: 'Epoch 1/10', 'step 100/5000'."""
    epochs, steps, batches = (_last(total) for total in (rows.epoch_total, rows.step_total, rows.batch_total))
    if epochs is not None:
        builder.config["planned_epochs"] = epochs
    within = rows.unrolled or (epochs is not None and _epoch_first(rows))
    training = rows.plan.objective or (not rows.plan.columns and distinct(rows.step) > 1)
    if steps is not None and not within and training and rows.plan.split not in ("val", "test"):
        builder.config["planned_steps"] = steps
    elif steps is not None and rows.own_epoch:
        builder.config["steps_per_epoch"] = steps
    if batches is not None and rows.own_epoch:
        builder.config["steps_per_epoch"] = batches


def _epoch_first(rows: Rows) -> bool:
    """'Epoch [1/3], Step [1/600]' counts steps within an epoch, 'Step 100/5000 | Epoch 1/10' all of them; once an epoch
    has passed the steps themselves have shown."""
    epoch, step = rows.plan.epoch, rows.plan.step
    return epoch is not None and step is not None and epoch.index < step.index and distinct(rows.epoch) < 2


def _plan_from_eta(accepted: list[Rows], builder: RunBuilder) -> None:
    """The time that was left at the end, at the last pace, is the steps that were left."""
    for rows in accepted:
        eta = next(
            (c for c in rows.plan.columns if re.match(r"eta|remaining", c.name, re.IGNORECASE) and c.clock), None
        )
        pace = next((c for c in rows.plan.columns if c.meaning.kind == "step_time"), None)
        if eta is None or pace is None or not rows.own_step:
            continue
        left, seconds = float(rows.values(eta)[-1]), float(np.nanmedian(rows.values(pace)[-50:]))
        seconds = seconds / 1000 if pace.meaning.part == "ms" else seconds
        if np.isfinite(left) and seconds > 0 and np.isfinite(rows.step[-1]):
            builder.config["planned_steps"] = float(np.round(rows.step[-1] + left / seconds))


def _last(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite[-1]) if len(finite) else None


def _events(scanner: Scanner, accepted: list[Rows], places: NDArray[np.int64], builder: RunBuilder) -> None:
    seq = np.concatenate([rows.block.seq for rows in accepted]) if accepted else np.empty(0, dtype=np.int64)
    steps = np.concatenate([rows.step for rows in accepted]) if accepted else np.empty(0)
    order = np.argsort(seq, kind="stable")
    for place, event in scanner.events.found:
        at = int(np.searchsorted(seq[order], place, side="right")) - 1
        step = float(steps[order][at]) if at >= 0 and np.isfinite(steps[order][at]) else None
        builder.happened(replace(event, step=step), int(np.searchsorted(places, place, side="right")) - 1)
    last = int(seq.max()) if len(seq) else -1
    if any(place > last and event.kind in (*CRASHES, *ENDS) for place, event in scanner.events.found):
        return
    complaint = complaint_in(line for place, line in scanner.tail if place > last)
    if complaint is not None and last >= 0:
        step = float(steps[order][-1])
        builder.happened(Event("complaint", complaint[:300], step if np.isfinite(step) else None), len(places) - 1)
