"""Measures how many different batches the training sees: those that a DataLoader hands out, else what the model is
given."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.measures.rows import odd_stride, watchable
from traindx.live.measures.seeding import Seeding
from traindx.live.measures.sources import holds, tables_like
from traindx.live.measures.tensors import first_input, tensors_in, wants_gradients
from traindx.live.recording.async_copy import AsyncCopy
from traindx.live.recording.keeping import drawn
from traindx.measurements import BatchVariety

ENOUGH = 16  # different batches: there is no more to be known
MANY = 64  # looks, after which
SELDOM = 16  # one of so many updates is looked at
MAX_PARTS = 4  # tensors of a batch that are compared
MAX_BATCHES = 32  # that one update sees
MAX_NUMBERS = 1 << 15  # of a tensor that are compared
MIN_DIFFERENT = 8  # of those, from the first one: fewer may be equal by chance
MIN_ROWS = 4  # of a batch that is looked for in tables
MAX_TABLES = 4  # it is looked for in
MAX_TABLE = 1 << 22  # numbers of one on a device
TABLE_LOOKS = 3
MEASURED_AT = (16, 32, 64, 128)  # looks


@dataclass(slots=True)
class _Look:
    """What one update was trained on."""

    step: int
    rows: int = 0
    asked: int = 0  # fingerprints
    arrived: int = 0  # of those
    prints: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Loaded:
    """What loaders handed out for one update."""

    indices: list[tuple[Any, ...] | None] = field(default_factory=list)
    parts: list[tuple[int, ...]] = field(default_factory=list)  # fingerprints of the tensors, one tuple a batch
    rows: int = 0
    batches: int = 0
    data: int = 0


class Variety(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._seeding = Seeding(hub)
        self._where = ""
        self._done = False
        self._backward = False  # has run since the last update
        # loaders
        self._loaded = _Loaded()  # since the last update
        self._steps: list[int] = []  # updates looked at that were trained on batches of loaders
        self._indices: set[tuple[Any, ...]] = set()
        self._parts: list[set[tuple[int, ...]]] = []  # by the place of the tensor in a batch
        self._rows = self._data = 0
        # what models are given
        self._look: _Look | None = None
        self._looks: list[_Look] = []
        self._from_loader: list[_Look] = []  # updates whose batches came from a loader
        self._last: weakref.ref[torch.Tensor] | None = None  # what the model was given at the look before
        self._fresh = self._table_looks = 0
        self._table = 0  # rows of the one that holds a batch
        self._slice = False

    def attach(self) -> None:
        self._seeding.attach()

    # --- loaders ------------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._done or not self.hub.grad or self._rare(len(self._steps)):
            return
        now = self._loaded
        now.batches += 1
        if now.batches > MAX_BATCHES:
            return
        parts = [one for one in islice(tensors_in(batch), MAX_PARTS) if one.dim()]
        prints = tuple(_fingerprint(_sample(one)) if one.is_cpu and _plain(one) else 0 for one in parts)
        indices = drawn.last
        known = indices is not None and all(type(one) is int for one in indices)
        now.indices.append(tuple(indices) if indices is not None and known else None)
        now.parts.append(prints)
        rows = len(indices) if indices is not None and known else max((len(one) for one in parts), default=0)
        now.rows += rows
        now.data = max(now.data, _samples(loader, rows))
        if not self._where:
            self._where = user_line()

    def on_criterion(self, call: Criterion) -> None:
        if self._done:
            return
        if not call.output.requires_grad:  # an evaluation: its batches are not trained on
            self._loaded, self._look = _Loaded(), None
        elif self._look is not None and not call.target.requires_grad:
            self._ask(self._look, (call.target,))

    def on_backward(self, loss: torch.Tensor) -> None:
        self._backward = True

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._done:
            return
        loaded, look, trained = self._loaded, self._look, self._backward
        self._loaded, self._look, self._backward = _Loaded(), None, False
        if trained and 0 < loaded.batches <= MAX_BATCHES:
            self._count(loaded)
            if look is not None and look.asked:
                self._from_loader.append(look)
        elif trained and look is not None and look.asked:
            self._looks.append(look)
        self._copies.poll()
        same = self._same_so_far()
        self._done = self._distinct() > ENOUGH and not same
        if self._done or len(self._steps) in MEASURED_AT or len(self._looks) in MEASURED_AT:
            self._measure()
        if not self._done and (same or not self._steps) and self.hub.step % 8 == 0:
            self.hub.sample_calls(evaluation=False)

    def _count(self, loaded: _Loaded) -> None:
        """An update that was trained on batches of loaders."""
        places = min(map(len, loaded.parts))
        if not places or (self._parts and len(self._parts) != places):
            return
        self._parts = self._parts or [set() for _ in range(places)]
        self._steps.append(self.hub.step)
        self._rows, self._data = max(self._rows, loaded.rows), max(self._data, loaded.data)
        for place, seen in enumerate(self._parts):
            seen.add(tuple(part[place] for part in loaded.parts))
        known = [one for one in loaded.indices if one is not None]
        if len(known) == len(loaded.indices):
            self._indices.add(tuple(known))

    # --- what models are given ----------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self._done or self._rare(len(self._looks) + len(self._from_loader)):
            return
        data = first_input(args, kwargs)
        if data is None or data.requires_grad or not (self.hub.grad and wants_gradients(output)):
            return
        if self._look is None:
            self._look = _Look(self.hub.step)
            self._fresh += self._last is None or self._last() is not data
            self._last = weakref.ref(data)
            self._where = self._where or user_line()
        self._look.rows += len(data)
        self._ask(self._look, tensors_in((args, kwargs)))
        if not self._steps and not self._loaded.batches:
            self._look_for_table(data)

    on_sampled_call = on_forward

    def _ask(self, look: _Look, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in islice(tensors, MAX_PARTS):
            if _plain(tensor) and tensor.dim() and look.asked < MAX_BATCHES:
                look.asked += 1
                self._copies.to_host(_sample(tensor), lambda here: self._arrived(look, here))

    def _arrived(self, look: _Look, here: torch.Tensor) -> None:
        look.prints.add(_fingerprint(here))
        look.arrived += 1

    def _look_for_table(self, data: torch.Tensor) -> None:
        """A larger table that holds the rows of the batch, in a variable of the script: there are more data."""
        if self._table or self._table_looks >= TABLE_LOOKS or not self.hub.deep or not _plain(data):
            return
        if data.dim() < 2 or len(data) < MIN_ROWS or data.is_complex() or data.numel() > MAX_TABLE:
            return
        self._table_looks += 1
        for table in tables_like(data)[:MAX_TABLES]:
            if table.is_cpu or table.numel() <= MAX_TABLE:
                self._compare(table, data)

    def _compare(self, table: torch.Tensor, data: torch.Tensor) -> None:
        inside = table.device == data.device and _lies_in(data, table)

        def compare(batch: torch.Tensor, here: torch.Tensor) -> None:
            if not self._table and holds(here, batch):
                self._table, self._slice = len(here), inside

        rows = data.detach().flatten(1)
        if table.is_cpu:
            self._copies.to_host(rows, lambda batch: compare(batch, table))
        else:
            self._copies.bring_all((rows, table), compare)

    # --- what it amounts to -------------------------------------------------------------------------------------------

    def _rare(self, looks: int) -> bool:
        return looks >= MANY and self.hub.step % SELDOM != 0

    def _distinct(self) -> int:
        """Where indices are known, samples may be altered on their way (augmentation) as long as some part of them,
        such as the labels, stays; else all parts count. 0 where no part tells batches apart."""
        if not self._steps:
            return _different(self._whole(self._looks))
        telling = [len(seen) for seen in self._parts if not any(0 in prints for prints in seen)]
        if not telling:
            return 0
        return max(len(self._indices), min(telling)) if self._indices else max(map(len, self._parts))

    def _same_so_far(self) -> bool:
        """Whether models were given the same beside the batches of a loader, too few times to tell."""
        given = self._whole(self._from_loader)
        return len(given) <= ENOUGH and len(self._steps) <= MEASURED_AT[-1] and _different(given) == 1

    def _whole(self, looks: list[_Look]) -> list[_Look]:
        return [look for look in looks if look.arrived == look.asked and any(look.prints)]

    def _measure(self) -> None:
        given = self._whole(self._from_loader if self._steps else self._looks)
        steps = self._steps or [look.step for look in given]
        if not steps or not self._distinct():
            return
        loader = bool(self._steps)
        line, seeded = self._seeding.most()
        self.hub.measure(
            BatchVariety(
                looks=len(steps), distinct=self._distinct(), span=steps[-1] - steps[0] + 1,
                rows=self._rows if loader else max(look.rows for look in given),
                data=self._data if loader else self._table, loader=loader, fresh=0 if loader else self._fresh,
                slice=self._slice and not loader, seeded=seeded, seeded_at=line, where=self._where,
                given=_different(given), given_looks=len(given),
            )
        )  # fmt: skip

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if not self._done:
            self._measure()


def _different(looks: list[_Look]) -> int:
    return len({frozenset(look.prints) for look in looks})


def _plain(tensor: torch.Tensor) -> bool:
    """Whether its numbers can be read here: inside a transform of torch.func whatever is made of a tensor has none."""
    return tensor.layout == torch.strided and watchable(tensor) and watchable(tensor.detach())


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers from all over a tensor; of a large one some of its rows first, which may have to be copied."""
    tensor = tensor.detach()
    if tensor.numel() > MAX_NUMBERS and len(tensor) > 64 and not tensor.is_contiguous():
        tensor = tensor[:: len(tensor) // 64 + 1]
    flat = tensor.reshape(-1)
    return flat[:: odd_stride(flat.numel(), MAX_NUMBERS)]


def _fingerprint(sample: torch.Tensor) -> int:
    """The same number for the same values; 0 where too few differ to tell batches apart."""
    if int((sample != sample[0]).sum()) < min(MIN_DIFFERENT, max(1, len(sample) // 4)):
        return 0
    return hash((len(sample), sample.contiguous().view(torch.uint8).numpy().tobytes())) or 1


def _samples(loader: Any, rows: int) -> int:
    """How many samples a loader can draw: its sampler may keep to a part of the data. 0 where it does not say."""
    with suppress(TypeError, AttributeError, NotImplementedError):
        return min(len(loader.dataset), len(loader) * rows)
    return 0


def _lies_in(part: torch.Tensor, whole: torch.Tensor) -> bool:
    return whole.data_ptr() <= part.data_ptr() < whole.data_ptr() + whole.nbytes


OBSERVER = Variety
