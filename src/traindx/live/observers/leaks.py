"""Validation samples that occur in the training data.

Rows of the data are remembered by a 64-bit hash of their bytes: those the model was trained on, as far as they were seen, and
those it was evaluated on. Of a small set held as tensors all rows are known at once. Of others only part of the training rows
is seen; how large that part is shows in how often a training row comes back. Samples that are no rows (texts, records) are told
apart by what they are: the same objects of a list, the same numbers of one dataset.
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
PARTLY_KNOWN = 0.1  # of the training rows must be known before anything is said
SIGMAS = 2.5
UNCERTAIN = 0.4  # scatter beyond which a set of training rows and one without any look alike
ALL = 0.9  # of a set are training rows: it was taken from them as a whole
RUN = 4  # training rows one behind the other at the border of a batch, and no others in it
COVERS = 0.9  # of the training rows are evaluated: that is a training metric
DISTINCT = 0.9  # of the rows of a batch
FEATURES = 8  # that are asked whether one of them tells the rows apart
GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as a signed number: multipliers that mix well


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
                self._take(self._by_model.setdefault(id(model), _Rows()), data, None)
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
        some = some_of(data) if len(rows.trained) < MOST_ROWS else None
        if some is not None:
            self._later.bring(some, partial(self._seen, rows, group))

    def _take_whole(self, loader: DataLoader[Any]) -> None:
        """Know all rows of a small training set that is drawn from as a whole, without asking it for samples: that would run
        the user's code."""
        drawn = getattr(loader.batch_sampler, "sampler", loader.sampler)
        data = _held(loader.dataset) if type(drawn) is RandomSampler else None
        some = some_of(data) if data is not None and len(data) <= ROWS_A_CALL else None
        if some is not None:
            self._later.bring(some, lambda here: self._whole.update(row_hashes(here) if _continuous(here) else ()))

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

    def _close_gaps(self) -> None:
        for rows in (self._loaded, self._members, *self._by_model.values()):
            if rows.sets and rows.again >= PARTLY_KNOWN:
                self._judge(rows)
            rows.sets, rows.whole = {}, True
        self._calls = 0

    def _judge(self, rows: _Rows) -> None:
        """The share of training rows among the evaluated ones, in relation to how many training rows are known at all."""
        if max(_scatter(rows, group) for group in rows.sets) > UNCERTAIN:
            return
        shares = {group: sum(members.values()) / len(members) / rows.again for group, members in rows.sets.items()}
        others = [rows.sets[group] for group, share in shares.items() if share + _scatter(rows, group) < ALL]
        # a set that is all training rows beside another that is not: a training metric beside the validation
        if others and _run_on(list(rows.sets.values())):
            others = list(rows.sets.values())
        looked = others or list(rows.sets.values())
        count = sum(map(len, looked))
        leaked = sum(sum(members.values()) for members in looked)
        share = min(1.0, leaked / max(count, 1) / rows.again)
        if count < LEAST_EVALUATED:
            return
        if share > LEAK and leaked >= 10:
            if not others and (not rows.whole or leaked > COVERS * len(rows.trained)):
                return  # the training set itself is evaluated: a training metric
            self._done = True
            self._findings.add(Finding(
                "validation-seen-in-training", True,
                f"{leaked} of {count} evaluated samples are among the {len(rows.trained)} training samples seen so far.",
                0.95 if others else 0.8,
            ))  # fmt: skip
        elif leaked == 0 and count * LEAK * rows.again >= EXPECTED:
            self._clean += 1
            self._done = self._clean >= 3
            self._findings.add(Finding(
                "validation-seen-in-training", False,
                f"None of {count} evaluated samples is among the {len(rows.trained)} training samples seen.",
            ))  # fmt: skip


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


def _run_on(batches: list[dict[int, bool]]) -> bool:
    """The training rows begin or end within a batch and fill the one beside it: they stand in one set with the others."""
    for here, beside in pairwise(batches):
        for mixed, full, order in ((here, beside, -1), (beside, here, 1)):
            flags = list(mixed.values())[::order]  # from the border on
            known = sum(flags)
            if RUN <= known < len(flags) and all(flags[:known]) and all(full.values()):
                return True
    return False


def _scatter(rows: _Rows, group: int) -> float:
    """How much less than its true share of training rows a set may show by chance, where only some of those are known."""
    return SIGMAS * math.sqrt(max(0.0, 1 - rows.again) / (rows.again * len(rows.sets[group])))


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
    if rows.shape[1] > VALUES_A_ROW:
        rows = rows[:, :: rows.shape[1] // VALUES_A_ROW]
    return rows


def row_hashes(rows: torch.Tensor) -> list[int]:
    """One 64-bit number for each row, the same wherever the row comes from."""
    numbers = rows.float().contiguous().view(torch.int32).long() if rows.is_floating_point() else rows.long()
    places = torch.arange(1, numbers.shape[1] + 1)
    mixed = (numbers + places) * (places * GOLDEN)
    hashes: list[int] = (mixed ^ (mixed >> 29)).sum(1).tolist()
    return hashes


OBSERVER = Leaks
