"""Validation samples that occur in the training data.

Rows of the data are remembered by a 64-bit hash of their bytes: those the model was trained on, as far as they were seen, and
those it was evaluated on. Of a small set held as tensors all rows are known at once. Of others only part of the training rows
is seen; how large that part is shows in how often a training row comes back, or in the length of the table that batches are cut
from. That table may hold the validation rows as well, so that only what is not in it is settled by it alone: what is must also
be trained on, as often as the rest. Samples that are no rows (texts, records) are told apart by what they are: the same objects
of a list, the same numbers of one dataset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset

from traindx.live.calls import GLANCE_CALLS
from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.observer import Observer
from traindx.live.rows import watchable
from traindx.live.sources import holds, tables_like
from traindx.live.tensors import first_input, tensors_in, wants_gradients

MOST_ROWS = 200_000
ROWS_A_CALL = 4096
VALUES_A_ROW = 256  # spread over the row; enough to tell any two samples apart that are not made alike
LEAST_VALUES = 4  # in a row: fewer make equal rows by chance,
NARROW, NARROW_ROWS, CONTINUOUS = 2, 16, 0.98  # unless each of two or three is a number that hardly ever comes twice
LEAST_EVALUATED = 25
LEAK = 0.2  # of the evaluated rows
EXPECTED = (
    5.0  # training rows that a leak would have shown among the evaluated ones, before it is ruled out (e⁻⁵ is chance)
)
FEW = 0.25  # of the rows that a leak would have shown: as many as duplicates in the data bring,
MANY = 4  # times as many expected as to rule it out where none is shown
PARTLY_KNOWN = 0.1  # of the training rows must be known before anything is said
SIGMAS = 2.5
UNCERTAIN = 0.4  # scatter beyond which a set of training rows and one without any look alike
ALL = 0.9  # of a set are training rows: it was taken from them as a whole
BEFORE = (
    3  # evaluated rows among the training rows before, at least; and how many times fewer than expected they may be
)
RUN = 4  # training rows one behind the other at the border of a batch, and no others in it
COVERS = 0.9  # of the training rows are evaluated: that is a training metric
SAME = 0.9  # of the rows of two evaluations: they are of one set
DISTINCT = 0.9  # of the rows of a batch
LOOKS = 2  # training calls that are asked for the table they are cut from,
CANDIDATES = 4  # tables that are asked whether it is them,
MOST_NUMBERS = ROWS_A_CALL * VALUES_A_ROW  # of one whose rows are all remembered,
LONGEST = 1 << 18  # rows of any
FEATURES = 8  # that are asked whether one of them tells the rows apart
GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as a signed number: multipliers that mix well


@dataclass(frozen=True, slots=True)
class _Table:
    """What training batches are cut from."""

    size: int
    rows: frozenset[int]  # none where they are too many to be remembered

    def has(self, hashes: list[int]) -> bool:
        return not self.rows or self.rows.issuperset(hashes)


@dataclass(slots=True)
class _Evaluated:
    """The last evaluation that was seen, to be compared with what is trained on later; and how it looked the first time."""

    sets: dict[int, dict[int, bool]]
    whole: bool
    trained: int  # training rows seen by then,
    leaked: int  # of which so many are evaluated

    def at_all_times(self, leaked: int, trained: int) -> bool:
        """Whether these rows are trained on before the evaluation as after it. Those of a fold or of a stream are only after it."""
        expected = leaked * self.trained / max(trained, 1)
        return expected >= BEFORE and self.leaked >= expected / BEFORE


@dataclass(slots=True)
class _Rows:
    """The rows seen in one way: as a model's input, or as a loader's batch."""

    trained: set[int] = field(default_factory=set)
    last: frozenset[int] = frozenset()
    again: float = 0.0  # share of the training rows that had been seen before, moving average
    sets: dict[int, dict[int, bool]] = field(
        default_factory=dict
    )  # evaluated since the last update: row → was trained on
    whole: bool = True  # all of this evaluation was seen
    tables: list[_Table] = field(default_factory=list)  # that hold all training rows seen since they were found
    looks: int = 0  # for them
    part: float = 1.0  # of a training call's rows that was looked at
    kept: _Evaluated | None = None

    @property
    def known(self) -> float:
        """The share of the training rows that was seen; a smaller one where the table holds rows that are not trained on."""
        came_back = self.again if self.again >= PARTLY_KNOWN else 0.0
        if len(self.trained) <= ROWS_A_CALL:  # one large batch that comes again and again
            came_back *= self.part
        cut_out = len(self.trained) / max(table.size for table in self.tables) if self.tables else 0.0
        return min(1.0, max(came_back, cut_out))


class Leaks(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._findings = Findings(hub)
        self._by_model: dict[int, _Rows] = {}
        self._loaded = _Rows()
        self._training_data: set[int] = set()  # ids of the datasets that are trained on
        self._whole: set[int] = set()  # all rows of those that are held as tensors
        self._waiting: tuple[Any, torch.Tensor | None] | None = None  # loader and batch, not yet known what for
        self._compared: set[int] = set()
        self._members = _Rows(again=1.0)  # the samples of whole datasets, by their identity
        self._between = False
        self._calls = 0
        self._clean = 0
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
                rows = self._by_model.setdefault(id(model), _Rows())
                self._take(rows, data, None)
                self._look_for_table(rows, data)
        elif self._between and not self.hub.grad and id(model) in self._by_model:
            self._calls += 1
            rows = self._by_model[id(model)]
            rows.whole = rows.whole and self._calls < GLANCE_CALLS and len(data) <= ROWS_A_CALL
            self._take(rows, data, self._calls)

    on_glance = on_forward

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
        if group is not None and len(data) > ROWS_A_CALL:
            data = data[:: -(-len(data) // ROWS_A_CALL)]  # from all over it: leaked rows may stand at the end
        some = some_of(data) if len(rows.trained) < MOST_ROWS else None
        if some is not None:
            if group is None:
                rows.part = min(rows.part, len(some) / len(data))
            self._later.bring(some, partial(self._seen, rows, group))

    def _take_whole(self, loader: DataLoader[Any]) -> None:
        """Know all rows of a small training set that is drawn from as a whole, without asking it for samples: that would run
        the user's code."""
        drawn = getattr(loader.batch_sampler, "sampler", loader.sampler)
        data = _held(loader.dataset) if type(drawn) is RandomSampler else None
        some = some_of(data) if data is not None and len(data) <= ROWS_A_CALL else None
        if some is not None:
            self._later.bring(some, lambda here: self._whole.update(row_hashes(here) if _continuous(here) else ()))

    def _look_for_table(self, rows: _Rows, data: torch.Tensor) -> None:
        some = some_of(data) if not rows.tables and rows.looks < LOOKS and self.hub.deep and len(data) > 1 else None
        if some is None:
            return
        rows.looks += 1
        for table in tables_like(data)[:CANDIDATES]:
            values = spread(table)
            if values.numel() <= MOST_NUMBERS or (values.is_cpu and len(values) <= LONGEST):
                self._later.bring(some, partial(self._compare_table, rows, values))

    def _compare_table(self, rows: _Rows, table: torch.Tensor, batch: torch.Tensor) -> None:
        def compare(here: torch.Tensor) -> None:
            if holds(here, batch):
                few = here.numel() <= MOST_NUMBERS
                rows.tables.append(_Table(len(here), frozenset(row_hashes(here) if few else ())))

        self._later.bring(table, compare)

    def _seen(self, rows: _Rows, group: int | None, some: torch.Tensor) -> None:
        hashes = row_hashes(some)
        different = len(set(hashes))
        if different < DISTINCT * len(hashes) and not _told_by_a_feature(some, different):
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
        elif len(rows.last.intersection(hashes)) < 0.9 * len(hashes):  # the batch just trained on is no evaluation
            rows.sets.setdefault(group, {}).update((value, value in rows.trained) for value in hashes)

    # --- and are compared ---------------------------------------------------------------------------------------------

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done:
            return
        self._later.poll()
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
        if (
            not self._done and self.hub.step % 8 == 0
        ):  # training rows beyond those of deep steps, if the budget has room
            self.hub.glance(evaluation=False)

    def on_farewell(self) -> None:
        """What one training was validated on, the next may train on: folds of a cross-validation."""
        self.on_end()
        self._by_model.clear()
        self._training_data.clear()
        self._loaded, self._members = _Rows(), _Rows(again=1.0)
        self._compared.clear()

    def on_end(self) -> None:
        if not self._done:
            self._evaluated_batch()
            self._later.poll(wait=True)
            self._close_gaps()
            self._look_back()

    def _look_back(self) -> None:
        """Compare the last evaluation that was seen with all training rows, those after it among them."""
        for rows in self._by_model.values():
            if rows.kept is None or self._done or self._clean:
                continue
            rows.sets = {
                group: {value: value in rows.trained for value in members} for group, members in rows.kept.sets.items()
            }
            rows.whole = rows.kept.whole
            leaked = sum(sum(members.values()) for members in rows.sets.values())
            if not leaked or rows.kept.at_all_times(leaked, len(rows.trained)):
                self._compare(rows)
            rows.sets = {}

    def _close_gaps(self) -> None:
        for rows in (self._loaded, self._members, *self._by_model.values()):
            if rows.sets and rows.trained:
                rows.kept = _kept(rows)
                self._compare(rows)
            rows.sets, rows.whole = {}, True
        self._calls = 0

    def _compare(self, rows: _Rows) -> None:
        if not self._told_by_table(rows):
            self._judge(rows)

    def _told_by_table(self, rows: _Rows) -> bool:
        """Compare with all rows that batches are cut from, if that settles it."""
        table = min((one for one in rows.tables if one.rows), key=lambda one: one.size, default=None)
        if table is None:
            return False
        inside = [{value: value in table.rows for value in members} for members in rows.sets.values()]
        others = [members for members in inside if sum(members.values()) < ALL * len(members)]
        looked = inside if others and _run_on(inside) else others
        found = [value for members in looked for value, held in members.items() if held]
        count = sum(map(len, looked))
        if count < LEAST_EVALUATED:
            return False
        if len(found) <= FEW * LEAK * count and (not found or LEAK * count >= MANY * EXPECTED):
            self._ruled_out(
                f"{_few(len(found), count)} among the {table.size} rows that training batches are cut from."
            )
            return True
        trained = sum(value in rows.trained for value in found)
        as_often = len(found) * len(rows.trained) / len(table.rows)  # as the other rows of the table
        if len(found) <= LEAK * count or trained < max(EXPECTED, as_often / 2):
            return False
        self._shown(
            f"{len(found)} of {count} evaluated samples are among the {table.size} rows that training batches are cut from, and "
            f"{trained} of them were seen in such batches.",
            0.95,
        )
        return True

    def _judge(self, rows: _Rows) -> None:
        """The share of training rows among the evaluated ones, in relation to how many training rows are known at all."""
        known = rows.known
        if not known or self._hardly_any(rows, known):
            return
        batches = list(rows.sets.values())
        certain = [members for members in batches if _scatter(members, known) <= UNCERTAIN]
        if 2 * sum(map(len, certain)) >= sum(map(len, batches)):
            others = _not_all_trained(certain, known)
            looked = others or certain
        elif _evenly(batches, known):
            others = looked = batches
        else:
            return
        count = sum(map(len, looked))
        leaked = sum(sum(members.values()) for members in looked)
        share = min(1.0, leaked / max(count, 1) / known)
        if count < LEAST_EVALUATED or share <= LEAK or leaked < 10:
            return
        if not others and (not rows.whole or leaked > COVERS * len(rows.trained)):
            return  # the training set itself is evaluated: a training metric
        self._shown(
            f"{leaked} of {count} evaluated samples are among the {len(rows.trained)} training samples seen so far.",
            0.95 if others else 0.8,
        )

    def _hardly_any(self, rows: _Rows, known: float) -> bool:
        """So few of the evaluated rows are training rows that there is no leak; a training metric would show many."""
        count = sum(map(len, rows.sets.values()))
        leaked = sum(sum(members.values()) for members in rows.sets.values())
        expected = LEAK * count * known
        if count < LEAST_EVALUATED or leaked > FEW * expected or expected < (MANY if leaked else 1) * EXPECTED:
            return False
        self._ruled_out(f"{_few(leaked, count)} among the {len(rows.trained)} training samples seen.")
        return True

    def _shown(self, evidence: str, clarity: float) -> None:
        self._done = True
        self._findings.add(Finding("validation-seen-in-training", True, evidence, clarity))

    def _ruled_out(self, evidence: str) -> None:
        self._clean += 1
        self._done = self._clean >= 3
        self._findings.add(Finding("validation-seen-in-training", False, evidence))


def _kept(rows: _Rows) -> _Evaluated:
    """This evaluation, with how the same rows looked the first time if they were evaluated before."""
    now = {value for members in rows.sets.values() for value in members}
    if rows.kept is not None:
        before = [value for members in rows.kept.sets.values() for value in members]
        if sum(value in now for value in before) >= SAME * max(len(now), len(before)):
            return _Evaluated(rows.sets, rows.whole, rows.kept.trained, rows.kept.leaked)
    return _Evaluated(rows.sets, rows.whole, len(rows.trained), len(now & rows.trained))


def _few(leaked: int, count: int) -> str:
    return f"Only {leaked} of {count} evaluated samples are" if leaked else f"None of {count} evaluated samples is"


def _identities(dataset: Any) -> set[int]:
    """What tells the samples of a dataset apart without asking it for them: their objects, or their numbers in another one."""
    if type(dataset) is Subset and len(dataset.indices) <= MOST_ROWS:
        return {hash((id(dataset.dataset), int(index))) for index in dataset.indices}
    if type(dataset) in (list, tuple) and len(dataset) <= MOST_ROWS:
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


def _told_by_a_feature(rows: torch.Tensor, different: int) -> bool:
    """Whether rows that occur several times are copies: some feature alone has as many values as there are rows that differ."""
    if not rows.is_floating_point():
        return False
    return any(len(set(column.tolist())) >= DISTINCT * different for column in rows[:, :FEATURES].T)


def _not_all_trained(sets: list[dict[int, bool]], known: float) -> list[dict[int, bool]]:
    """A set that is all training rows beside another that is not is a training metric beside the validation, unless both are one."""
    others = [
        members for members in sets if sum(members.values()) / len(members) / known + _scatter(members, known) < ALL
    ]
    return sets if others and _run_on(sets) else others


def _evenly(batches: list[dict[int, bool]], known: float) -> bool:
    """Training rows are spread over small batches by chance, as in one set that holds some. Where some batches were all training rows
    and the others held none, the counts would lie further apart."""
    count, leaked = sum(map(len, batches)), sum(sum(members.values()) for members in batches)
    rate = leaked / count
    share = rate / known
    if not 0 < share < ALL:
        return False
    apart = sum((sum(members.values()) - rate * len(members)) ** 2 / len(members) for members in batches)
    by_chance = len(batches) + SIGMAS * math.sqrt(2 * len(batches))
    of_two_kinds = count * known * (1 - share) / (1 - rate)
    return apart / (rate * (1 - rate)) <= by_chance <= of_two_kinds / 2


def _run_on(batches: list[dict[int, bool]]) -> bool:
    """The training rows begin or end within a batch and fill the one beside it: they stand in one set with the others."""
    for here, beside in pairwise(batches):
        for mixed, full, order in ((here, beside, -1), (beside, here, 1)):
            flags = list(mixed.values())[::order]  # from the border on
            known = sum(flags)
            if RUN <= known < len(flags) and all(flags[:known]) and all(full.values()):
                return True
    return False


def _scatter(members: dict[int, bool], known: float) -> float:
    """How much less than its true share of training rows a set may show by chance, where only some of those are known."""
    return SIGMAS * math.sqrt(max(0.0, 1 - known) / (known * len(members)))


def _continuous(rows: torch.Tensor) -> bool:
    """Whether each feature of these few tells the samples apart by itself: then a row does not come twice by chance."""
    if rows.shape[1] >= LEAST_VALUES:
        return True
    return len(rows) >= NARROW_ROWS and all(len(set(column.tolist())) >= CONTINUOUS * len(rows) for column in rows.T)


def some_of(data: torch.Tensor) -> torch.Tensor | None:
    """Rows of data, and of each some values that tell it from others."""
    if not watchable(data) or data.is_complex() or data.layout != torch.strided:
        return None
    rows = data.detach()[:ROWS_A_CALL].flatten(1)
    if rows.shape[1] < (NARROW if rows.is_floating_point() else LEAST_VALUES):
        return None
    return spread(rows)


def spread(rows: torch.Tensor) -> torch.Tensor:
    """Of long rows some values from all over them."""
    return rows[:, :: rows.shape[1] // VALUES_A_ROW] if rows.shape[1] > VALUES_A_ROW else rows


def row_hashes(rows: torch.Tensor) -> list[int]:
    """One 64-bit number for each row, the same wherever the row comes from."""
    numbers = rows.float().contiguous().view(torch.int32).long() if rows.is_floating_point() else rows.long()
    places = torch.arange(1, numbers.shape[1] + 1)
    mixed = (numbers + places) * (places * GOLDEN)
    hashes: list[int] = (mixed ^ (mixed >> 29)).sum(1).tolist()
    return hashes


OBSERVER = Leaks
