"""Validation samples that occur in the training data.

Rows of the data are remembered by a 64-bit hash of their bytes: those the model was trained on, as far as they were seen, and
those it was evaluated on. Only part of the training rows is seen; how large that part is shows in how often a training row
comes back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.observer import Observer
from traindx.live.rows import watchable
from traindx.live.tensors import first_input, tensors_in, wants_gradients

MOST_ROWS = 200_000
ROWS_A_CALL = 256
VALUES_A_ROW = 256  # spread over the row; enough to tell any two samples apart that are not made alike
LEAST_VALUES = 4  # in a row: fewer make equal rows by chance
LEAST_EVALUATED = 40
LEAK = 0.2  # of the evaluated rows
WHOLE = 0.95
COVERS = 0.9  # of the training rows are evaluated: that is a training metric
GOLDEN = -7046029254386353131  # 2**64 / golden ratio, as a signed number: multipliers that mix well


@dataclass(slots=True)
class _Rows:
    """The rows seen in one way: as a model's input, or as a loader's batch."""

    trained: set[int] = field(default_factory=set)
    last: frozenset[int] = frozenset()
    told_twice: float = 0.0  # share of the training rows that had been seen before, moving average
    gap: dict[int, bool] = field(default_factory=dict)  # evaluated since the last update: row → was trained on
    shares: list[tuple[float, int, float]] = field(default_factory=list)  # by evaluation: leaked, rows, part of the training


class Leaks(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._findings = Findings(hub)
        self._by_model: dict[int, _Rows] = {}
        self._loaded = _Rows()
        self._waiting: Any = None  # a loader's batch of which it is not known yet what it is for
        self._between = False

    # --- rows come in -------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._between and self._waiting is not None and not self._full(self._loaded):
            self._take(self._loaded, self._waiting, trained=False)
        self._waiting = next((t for t in tensors_in(batch) if t.dim() >= 2), None)

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if data is None or data.dim() < 2 or data.requires_grad:
            return
        trained = self.hub.grad and wants_gradients(output)
        if trained:
            rows = self._by_model.setdefault(id(model), _Rows())
        else:
            known = self._by_model.get(id(model))
            if known is None or self.hub.grad or not self._between:
                return
            rows = known
        if not self._full(rows) and len(self._by_model) <= 4:
            self._take(rows, data, trained=trained)

    on_glance = on_forward

    def _take(self, rows: _Rows, data: torch.Tensor, *, trained: bool) -> None:
        hashes = _hashes(data)
        if hashes is not None:
            self._later.ask(hashes, partial(self._hashed, rows, trained))

    def _full(self, rows: _Rows) -> bool:
        return len(rows.trained) > MOST_ROWS or len(rows.gap) > MOST_ROWS

    def _hashed(self, rows: _Rows, trained: bool, hashes: list[int]) -> None:
        if len(set(hashes)) < 0.9 * len(hashes):  # few distinct rows: equal ones mean nothing
            return
        if trained:
            again = sum(value in rows.trained for value in hashes) / len(hashes)
            rows.told_twice = again if not rows.trained else 0.8 * rows.told_twice + 0.2 * again
            rows.trained.update(hashes)
            rows.last = frozenset(hashes)
        elif len(rows.last.intersection(hashes)) < 0.9 * len(hashes):  # the batch just trained on is no evaluation
            for value in hashes:
                rows.gap[value] = value in rows.trained

    # --- and are compared ---------------------------------------------------------------------------------------------

    def on_backward(self, loss: torch.Tensor) -> None:
        self._later.poll()
        if self._between:
            self._close_gaps()
        self._between = False
        if self._waiting is not None:
            if not self._full(self._loaded) and (self.hub.deep or self.hub.cost < self.hub.budget):
                self._take(self._loaded, self._waiting, trained=True)
            self._waiting = None

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between = True
        if self.hub.step % 8 == 0:  # training rows beyond those of deep steps, if the budget has room
            self.hub.glance()

    def on_end(self) -> None:
        self._later.poll(wait=True)
        self._close_gaps(last=True)

    def _close_gaps(self, *, last: bool = False) -> None:
        for rows in (self._loaded, *self._by_model.values()):
            if len(rows.gap) >= LEAST_EVALUATED and rows.trained:
                leaked = sum(rows.gap.values())
                rows.shares.append((leaked / len(rows.gap), len(rows.gap), leaked / len(rows.trained)))
                self._judge(rows, last)
            rows.gap = {}

    def _judge(self, rows: _Rows, last: bool) -> None:
        """The share of known rows among the evaluated ones, in relation to how many training rows are known at all."""
        share, count, part = rows.shares[-1]
        seen = max(rows.told_twice, 0.05)
        estimate = min(1.0, share / seen) if rows.told_twice else share
        earlier = [known for known, _, _ in rows.shares[:-1]]
        if last and earlier and max(earlier) > 0.5 * LEAK:
            return  # the test after the last update says nothing new about validation
        if estimate > LEAK and share * count >= 10 and rows.told_twice > 0.1:
            whole = estimate > WHOLE
            if whole and part > COVERS * min(1.0, rows.told_twice):
                return  # the training set itself is evaluated: a training metric
            self._findings.add(Finding(
                "validation-seen-in-training", True,
                f"{share * 100:.0f} % of {count} evaluated samples are among the {len(rows.trained)} training samples seen so far "
                f"(about {estimate * 100:.0f} % of them are training samples).", 0.7 if whole else 0.95,
            ))  # fmt: skip
        elif share == 0 and rows.told_twice > 0.3:
            self._findings.add(Finding(
                "validation-seen-in-training", False,
                f"None of {count} evaluated samples is among the {len(rows.trained)} training samples seen.",
            ))  # fmt: skip


def _hashes(data: torch.Tensor) -> torch.Tensor | None:
    """One 64-bit number for each row, the same wherever the row comes from."""
    if not watchable(data) or data.is_complex() or data.layout != torch.strided:
        return None
    rows = data.detach()[:ROWS_A_CALL].flatten(1)
    if rows.shape[1] < LEAST_VALUES:
        return None
    if rows.shape[1] > VALUES_A_ROW:
        rows = rows[:, :: rows.shape[1] // VALUES_A_ROW]
    numbers = rows.float().contiguous().view(torch.int32).long() if rows.is_floating_point() else rows.long()
    places = torch.arange(1, numbers.shape[1] + 1, device=data.device)
    mixed = (numbers + places) * (places * GOLDEN)
    return (mixed ^ (mixed >> 29)).sum(1)


OBSERVER = Leaks
