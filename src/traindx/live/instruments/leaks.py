"""Measures how many evaluated samples occur in the training data.

Rows of the data are remembered by a 64-bit hash of their bytes: those the model was trained on, as far as they were
seen, and those it was evaluated on. Of a small set held as tensors all rows are known at once. Of others only part of
the training rows is seen; how large that part is shows in how often a training row comes back, or in the length of the
table that batches are cut from. That table may hold the validation rows as well, so that rows of it are counted apart
from those seen in training batches. Samples that are no rows (texts, records) are known by what they are: the same
objects of a list, the same indices of one dataset.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress, pairwise
from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset

from traindx.live.events.calls import SAMPLE_CALLS
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.rows import watchable
from traindx.live.measures.sources import holds, tables_like
from traindx.live.measures.tensors import first_input, tensors_in, wants_gradients
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import CallsAlike, EvaluatedRows

MAX_ROWS = 200_000
MAX_CALL_ROWS = 4096
MAX_ROW_VALUES = 256  # spread over the row; enough to tell any two samples apart that are not made alike
MIN_VALUES = 4  # in a row: fewer make equal rows by chance,
NARROW, NARROW_ROWS, CONTINUOUS = 2, 16, 0.98  # unless each of two or three is a number that hardly ever comes twice
DISTINCT = 0.9  # of the rows of a batch: where more are equal, equal rows mean nothing
MIN_RETURNED = 0.1  # of the training rows come back: fewer do not tell how many there are
JUST_TRAINED = 0.9  # of a call's rows are those of the last training call: that is no evaluation
SAME = 0.9  # of the rows of two evaluations: they are of one set
MAX_GROUPS = 24  # of calls that are written
MAX_TABLE_LOOKS = 2  # training calls that are asked for the table they are cut from,
MAX_TABLES = 4  # tables that are asked whether it is them,
MAX_NUMBERS = MAX_CALL_ROWS * MAX_ROW_VALUES  # of one whose rows are all remembered,
MAX_TABLE_ROWS = 1 << 18  # of any
MAX_FEATURES = 8  # that are asked whether one of them tells the rows apart
# Looking ends, to save its cost, after so many evaluations that hold hardly a row trained on: of the rows that would be
# known if all were, at most this share, and so many rows that more could not hide.
MAX_NEW, NEW_SHARE, NEW_ROWS, NEW_ROWS_SOME = 3, 0.05, 25, 100
GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as a signed number: multipliers that mix well

Sets = dict[int, dict[int, bool]]  # the rows of each evaluated call or dataset: hash → was trained on


@dataclass(frozen=True, slots=True)
class _Table:
    """What training batches are cut from."""

    size: int
    rows: frozenset[int]  # none where they are too many to be remembered

    def has(self, hashes: list[int]) -> bool:
        return not self.rows or self.rows.issuperset(hashes)


@dataclass(slots=True)
class _Evaluated:
    """The last evaluation that was seen, to be compared with what is trained on later; and how it looked the first
    time."""

    sets: Sets
    whole: bool
    training_rows: int  # seen by then,
    trained: int  # of which so many are evaluated


@dataclass(slots=True)
class _Rows:
    """The rows seen in one way: as a model's input, or as a loader's batch."""

    source: str  # the model's class, or what else they are read from
    trained: set[int] = field(default_factory=set)
    last: frozenset[int] = frozenset()
    again: float = 0.0  # share of the training rows that had been seen before, moving average
    sets: Sets = field(default_factory=dict)  # evaluated since the last update
    whole: bool = True  # all of this evaluation was seen
    tables: list[_Table] = field(default_factory=list)  # that hold all training rows seen since they were found
    looks: int = 0  # for them
    part: float = 1.0  # of a training call's rows that was looked at
    kept: _Evaluated | None = None
    waiting: tuple[Sets, bool] | None = None  # an evaluation in one call, which may prove the answer of a teacher

    @property
    def known(self) -> float:
        """The share of the training rows that was seen; a smaller one where the table holds rows that are not trained
        on."""
        came_back = self.again if self.again >= MIN_RETURNED else 0.0
        if len(self.trained) <= MAX_CALL_ROWS:  # one large batch that comes again and again
            came_back *= self.part
        cut_out = len(self.trained) / max(table.size for table in self.tables) if self.tables else 0.0
        return min(1.0, max(came_back, cut_out))

    def forget_answers(self, trained: frozenset[int]) -> None:
        """A teacher that answers the batch which its student is trained on next is not evaluated on it, nor was it when
        it first did so, before the student was known."""
        asked = [
            group
            for group, members in self.sets.items()
            if len(trained.intersection(members)) >= JUST_TRAINED * len(members)
        ]
        for group in asked:
            del self.sets[group]
            self.waiting = self.kept = None


class Leaks(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._by_model: dict[int, _Rows] = {}
        self._loaded = _Rows("DataLoader")
        self._training_data: set[int] = set()  # ids of the datasets that are trained on
        self._whole: set[int] = set()  # all rows of those that are held as tensors
        self._waiting: tuple[Any, torch.Tensor | None] | None = None  # loader and batch, not yet known what for
        self._compared: set[int] = set()
        self._members = _Rows("dataset", again=1.0)  # the samples of whole datasets, by their identity
        self._between = False
        self._calls = 0
        self._new = 0  # evaluations with hardly a row that was trained on
        self._done = False

    # --- rows come in -------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._done:
            return
        self._evaluated_batch()
        data = next((tensor for tensor in tensors_in(batch) if tensor.dim() >= 2), None)
        self._waiting = loader, data

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if self._done or data is None or data.dim() < 2 or data.requires_grad:
            return
        if self.hub.grad and wants_gradients(output):
            if len(self._by_model) < 4 or id(model) in self._by_model:
                rows = self._by_model.setdefault(id(model), _Rows(type(model).__name__))
                self._take(rows, data, None)
                self._look_for_table(rows, data)
        elif self._between and not self.hub.grad and id(model) in self._by_model:
            self._calls += 1
            rows = self._by_model[id(model)]
            rows.whole = rows.whole and self._calls < SAMPLE_CALLS and len(data) <= MAX_CALL_ROWS
            self._take(rows, data, self._calls)

    on_sampled_call = on_forward

    def _evaluated_batch(self) -> None:
        """The batch before was not trained on."""
        if self._between and self._waiting is not None:
            loader, data = self._waiting
            dataset = id(loader.dataset)
            if dataset not in self._training_data:
                self._evaluated_members(loader.dataset)
                if data is not None and self._affordable():
                    self._take(self._loaded, data, dataset)
                elif data is not None:
                    self._loaded.whole = False
        self._waiting = None

    def _evaluated_members(self, dataset: Any) -> None:
        known, sets = self._members.trained, self._members.sets
        if known and id(dataset) not in self._compared:
            self._compared.add(id(dataset))
            members = _identities(dataset)
            if not known.isdisjoint(members):  # copies of the same samples would not show: nothing is ruled out
                sets[id(dataset)] = {member: member in known for member in members}

    def _affordable(self) -> bool:
        return self.hub.deep or self.hub.cost < self.hub.budget

    def _take(self, rows: _Rows, data: torch.Tensor, group: int | None) -> None:
        """Remember rows: trained on without a group, else evaluated as part of this one."""
        if group is not None and len(data) > MAX_CALL_ROWS:
            data = data[:: -(-len(data) // MAX_CALL_ROWS)]  # from all over it: leaked rows may stand at the end
        some = some_of(data) if len(rows.trained) < MAX_ROWS else None
        if some is not None:
            if group is None:
                rows.part = min(rows.part, len(some) / len(data))
            self._copies.to_host(some, partial(self._seen, rows, group))

    def _take_whole(self, loader: DataLoader[Any]) -> None:
        """Know all rows of a small training set that is drawn from as a whole, without asking it for samples: that
        would run the user's code."""
        drawn = getattr(loader.batch_sampler, "sampler", loader.sampler)
        data = _held(loader.dataset) if type(drawn) is RandomSampler else None
        some = some_of(data) if data is not None and len(data) <= MAX_CALL_ROWS else None
        if some is not None:
            self._copies.to_host(some, lambda here: self._whole.update(row_hashes(here) if _continuous(here) else ()))

    def _look_for_table(self, rows: _Rows, data: torch.Tensor) -> None:
        some = (
            some_of(data)
            if not rows.tables and rows.looks < MAX_TABLE_LOOKS and self.hub.deep and len(data) > 1
            else None
        )
        if some is None:
            return
        rows.looks += 1
        for table in tables_like(data)[:MAX_TABLES]:
            values = spread(table)
            if values.numel() <= MAX_NUMBERS or (values.is_cpu and len(values) <= MAX_TABLE_ROWS):
                self._copies.to_host(some, partial(self._compare_table, rows, values))

    def _compare_table(self, rows: _Rows, table: torch.Tensor, batch: torch.Tensor) -> None:
        def compare(here: torch.Tensor) -> None:
            if holds(here, batch):
                few = here.numel() <= MAX_NUMBERS
                rows.tables.append(_Table(len(here), frozenset(row_hashes(here) if few else ())))

        self._copies.to_host(table, compare)

    def _seen(self, rows: _Rows, group: int | None, some: torch.Tensor) -> None:
        hashes = row_hashes(some)
        different = len(set(hashes))
        if different < DISTINCT * len(hashes) and not _differ_in_a_feature(some, different):
            return  # few distinct rows: equal ones mean nothing
        if not _continuous(some):
            return
        if group is None:
            if self._whole.issuperset(hashes):
                rows.trained, rows.again = self._whole, 1.0
            again = sum(value in rows.trained for value in hashes) / len(hashes)
            rows.again = 0.7 * rows.again + 0.3 * again
            rows.trained.update(hashes)
            if rows.tables:  # one that lacks a row was a part of the data, or rows are altered on their way
                rows.tables = [table for table in rows.tables if table.has(hashes)]
            rows.last = frozenset(hashes)
            for other in self._by_model.values():
                other.forget_answers(rows.last)
        elif len(rows.last.intersection(hashes)) < JUST_TRAINED * len(hashes):
            rows.sets.setdefault(group, {}).update((value, value in rows.trained) for value in hashes)

    # --- and are compared ---------------------------------------------------------------------------------------------

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done:
            return
        self._copies.poll()
        if self._waiting is not None:
            loader, batch = self._waiting
            if id(loader.dataset) not in self._training_data:
                self._training_data.add(id(loader.dataset))
                self._take_whole(loader)
                self._members.trained.update(_identities(loader.dataset))
            if batch is not None and self._affordable():
                self._take(self._loaded, batch, None)
            self._waiting = None
        if self._between:
            self._close_gaps()
        self._between = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between = True
        if not self._done and self.hub.step % 8 == 0:
            self.hub.sample_calls(evaluation=False)  # training rows beyond those of deep steps, if the budget has room

    def on_models_freed(self) -> None:
        """What one training was validated on, the next may train on: folds of a cross-validation."""
        self.on_end()
        self._by_model.clear()
        self._training_data.clear()
        self._loaded, self._members = _Rows("DataLoader"), _Rows("dataset", again=1.0)
        self._compared.clear()

    def on_end(self) -> None:
        if not self._done:
            self._evaluated_batch()
            self._copies.poll(wait=True)
            self._close_gaps()
            for rows in (self._loaded, self._members, *self._by_model.values()):
                self._measure_waiting(rows)
            self._look_back()

    def _look_back(self) -> None:
        """Compare the last evaluation that was seen with all training rows, those after it among them."""
        for rows in self._by_model.values():
            kept = rows.kept
            if kept is None or self._new:
                continue
            sets = {group: {row: row in rows.trained for row in members} for group, members in kept.sets.items()}
            self._measure(rows, sets, kept.whole, kept)

    def _close_gaps(self) -> None:
        for rows in (self._loaded, self._members, *self._by_model.values()):
            if rows.sets and rows.trained:
                self._measure_waiting(rows)
                rows.kept = _kept(rows)
                if len(rows.sets) > 1:
                    self._measure(rows, rows.sets, rows.whole)
                else:
                    rows.waiting = rows.sets, rows.whole
            rows.sets, rows.whole = {}, True
        self._calls = 0

    def _measure_waiting(self, rows: _Rows) -> None:
        if rows.waiting is not None:
            self._measure(rows, *rows.waiting)
            rows.waiting = None

    def _measure(self, rows: _Rows, sets: Sets, whole: bool, first: _Evaluated | None = None) -> None:
        """One evaluation; with how it looked the first time where it is compared once more in the end."""
        table = min((one for one in rows.tables if one.rows), key=lambda one: one.size, default=_Table(0, frozenset()))
        trained = [list(members.values()) for members in sets.values()]
        inside = [[row in table.rows for row in members] if table.rows else [] for members in sets.values()]
        look = EvaluatedRows(
            calls=_alike(trained, inside),
            dispersion=_dispersion(trained),
            border=_border(trained),
            table_border=_border(inside),
            training_rows=len(rows.trained),
            known=rows.known,
            table_rows=table.size,
            table_distinct=len(table.rows),
            whole=whole,
            later=first is not None,
            first_training_rows=first.training_rows if first is not None else 0,
            first_trained=first.trained if first is not None else 0,
            where=rows.source if first is None else f"{rows.source} at the end",  # so that both are written
        )
        self.hub.measure(look)
        self._new += _all_new(look)
        self._done = self._new >= MAX_NEW


def _kept(rows: _Rows) -> _Evaluated:
    """This evaluation, with how the same rows looked the first time if they were evaluated before."""
    now = {row for members in rows.sets.values() for row in members}
    if rows.kept is not None:
        before = [row for members in rows.kept.sets.values() for row in members]
        if sum(row in now for row in before) >= SAME * max(len(now), len(before)):
            return _Evaluated(rows.sets, rows.whole, rows.kept.training_rows, rows.kept.trained)
    return _Evaluated(rows.sets, rows.whole, len(rows.trained), len(now & rows.trained))


def _alike(trained: Sequence[list[bool]], inside: Sequence[list[bool]]) -> tuple[CallsAlike, ...]:
    """Calls with the same counts put together; where those are many, also calls whose shares are next to each other."""
    counts = Counter(
        CallsAlike(1, len(one), sum(one), sum(two), sum(compress(one, two)))
        for one, two in zip(trained, inside, strict=True)
    )
    kinds = sorted(counts, key=lambda one: (one.trained / one.rows, one.in_table / one.rows, one.rows))
    gaps = [_apart(one, two) for one, two in pairwise(kinds)]
    cuts = sorted(sorted(range(len(gaps)), key=gaps.__getitem__, reverse=True)[: MAX_GROUPS - 1])  # the widest
    groups = []
    for start, end in pairwise([0, *(cut + 1 for cut in cuts), len(kinds)]):
        some = [[counts[kind] * number for number in kind] for kind in kinds[start:end]]
        groups.append(CallsAlike(*map(sum, zip(*some, strict=True))))
    return tuple(groups)


def _apart(one: CallsAlike, two: CallsAlike) -> float:
    """By how much the shares of two calls differ."""
    return abs(one.trained / one.rows - two.trained / two.rows) + abs(one.in_table / one.rows - two.in_table / two.rows)


def _dispersion(calls: Sequence[list[bool]]) -> float:
    """Chi-square of the rows trained on, if each call held the same share of them."""
    rate = sum(map(sum, calls)) / sum(map(len, calls))
    if not 0 < rate < 1:
        return 0.0
    return sum((sum(flags) - rate * len(flags)) ** 2 / len(flags) for flags in calls) / (rate * (1 - rate))


def _border(calls: Sequence[list[bool]]) -> int:
    """Rows that are marked, one behind the other, at the border of a call with no other marked rows beside one that is
    all marked: those rows begin or end within a call, as in one set. The most of any two calls."""
    longest = 0
    for here, following in pairwise(calls):
        for mixed, full in ((here[::-1], following), (following, here)):  # from the border on
            count = sum(mixed)
            if longest < count < len(mixed) and all(mixed[:count]) and all(full):
                longest = count
    return longest


def _all_new(look: EvaluatedRows) -> bool:
    """Another look would show no more: hardly a row was trained on, or hardly one stands in the table."""
    rows = sum(group.rows for group in look.calls)
    ways = [(sum(group.trained for group in look.calls), rows * look.known)]
    if look.table_rows:
        ways.append((sum(group.in_table for group in look.calls), float(rows)))
    return rows >= NEW_ROWS and any(
        old <= NEW_SHARE * known and known >= (NEW_ROWS_SOME if old else NEW_ROWS) for old, known in ways
    )


def _identities(dataset: Any) -> set[int]:
    """What tells the samples of a dataset apart without asking it for them: their objects, or their numbers in another
    one."""
    if type(dataset) is Subset and len(dataset.indices) <= MAX_ROWS:
        return {hash((id(dataset.dataset), int(index))) for index in dataset.indices}
    if type(dataset) in (list, tuple) and len(dataset) <= MAX_ROWS:
        return {id(sample) for sample in dataset if isinstance(sample, tuple | list | dict | torch.Tensor)}
    return set()


def _held(dataset: Any) -> torch.Tensor | None:
    """The first tensor of samples behind a dataset, where that is all it is."""
    if type(dataset) is Subset:
        held = _held(dataset.dataset)
        return held[torch.as_tensor(dataset.indices, device=held.device)] if held is not None else None
    if type(dataset) is not TensorDataset:
        return None
    return next((tensor for tensor in dataset.tensors if tensor.dim() >= 2), None)


def _differ_in_a_feature(rows: torch.Tensor, different: int) -> bool:
    """Whether rows that occur several times are copies: some feature alone has as many values as there are rows that
    differ."""
    if not rows.is_floating_point():
        return False
    return any(len(set(column.tolist())) >= DISTINCT * different for column in rows[:, :MAX_FEATURES].T)


def _continuous(rows: torch.Tensor) -> bool:
    """Whether each feature of these few tells the samples apart by itself: then a row does not come twice by chance."""
    if rows.shape[1] >= MIN_VALUES:
        return True
    return len(rows) >= NARROW_ROWS and all(len(set(column.tolist())) >= CONTINUOUS * len(rows) for column in rows.T)


def some_of(data: torch.Tensor) -> torch.Tensor | None:
    """Rows of data, and of each some values that tell it from others."""
    if not watchable(data) or data.is_complex() or data.layout != torch.strided:
        return None
    rows = data.detach()[:MAX_CALL_ROWS].flatten(1)
    if rows.shape[1] < (NARROW if rows.is_floating_point() else MIN_VALUES):
        return None
    return spread(rows)


def spread(rows: torch.Tensor) -> torch.Tensor:
    """Of long rows some values from all over them."""
    return rows[:, :: rows.shape[1] // MAX_ROW_VALUES] if rows.shape[1] > MAX_ROW_VALUES else rows


def row_hashes(rows: torch.Tensor) -> list[int]:
    """One 64-bit number for each row, the same wherever the row comes from."""
    numbers = rows.float().contiguous().view(torch.int32).long() if rows.is_floating_point() else rows.long()
    places = torch.arange(1, numbers.shape[1] + 1)
    mixed = (numbers + places) * (places * GOLDEN)
    hashes: list[int] = (mixed ^ (mixed >> 29)).sum(1).tolist()
    return hashes


OBSERVER = Leaks
