"""Measures how many tokens the means count that one update is made of, and whether each mean weighs the same."""

from __future__ import annotations

from statistics import median

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.events.places import own_line
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import CountedTokens

MAX_PASSES = 64  # before one update
MAX_UPDATES = 200
SAME = 1e-3  # two factors that differ by less are one
IGNORED = -100  # what cross_entropy leaves out where nothing else is asked for

Pass = tuple[float, float, float]  # tokens counted, their mean loss, and what `backward` ran on


class TokenWeights(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._call: tuple[torch.Tensor, torch.Tensor, str] | None = None  # counted, mean and line of the last loss
        self._calls = 0
        self._passes: list[torch.Tensor] = []
        self._where = ""
        self._updates: list[tuple[float, float, bool]] = []  # ratio of counts, shift, whether all weigh the same
        self._most = 0

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        if call.name not in ("cross_entropy", "nll_loss") or not call.output.requires_grad:
            return
        self._calls += 1
        target = call.target
        if target.is_floating_point() or call.output.numel() != 1 or not watchable(target):
            return
        ignored = call.options.get("ignore_index", IGNORED)
        counted = (target != (ignored if isinstance(ignored, int) else IGNORED)).sum()
        mean = call.output.detach()
        if call.options.get("reduction") == "sum":
            mean = mean / counted.clamp(min=1)
        self._call = (counted, mean, own_line() or call.where)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        call, self._call = self._call, None
        alone, self._calls = self._calls == 1, 0
        if (
            call is None
            or not alone
            or loss.numel() != 1
            or len(self._passes) >= MAX_PASSES
            or not watchable(loss.detach())
        ):
            self._passes.append(torch.zeros(3))  # one that is not understood
            return
        self._where = call[2]
        self._passes.append(torch.stack([call[0].float(), call[1].float(), loss.detach().reshape(()).float()]))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        passes, self._passes = self._passes[:MAX_PASSES], []
        if len(passes) > 1 and len(self._updates) < MAX_UPDATES and len({one.device for one in passes}) == 1:
            self._copies.ask(torch.stack(passes), self._take)
        self._copies.poll()

    def on_depth(self, deep: bool) -> None:
        self._passes, self._call, self._calls = [], None, 0

    def _take(self, rows: list[Pass]) -> None:
        counted = [row for row in rows if row[0] > 0 and row[1] != 0]
        if len(counted) < len(rows):
            return
        tokens = sum(n for n, _, _ in rows)
        weighted = sum(n * mean for n, mean, _ in rows) / tokens
        plain = sum(mean for _, mean, _ in rows) / len(rows)
        factors = [reported / mean for _, mean, reported in rows]
        if not weighted or not plain:
            return
        shift = max(plain / weighted, weighted / plain)
        same = max(factors) - min(factors) <= SAME * max(map(abs, factors))
        self._updates.append((max(n for n, _, _ in rows) / min(n for n, _, _ in rows), shift, same))
        self._most = max(self._most, len(rows))
        self.hub.measure(
            CountedTokens(
                updates=len(self._updates),
                passes=self._most,
                equal=sum(same for _, _, same in self._updates),
                ratio=median(ratio for ratio, _, _ in self._updates),
                shift=median(shift for _, shift, _ in self._updates),
                largest_shift=max(shift for _, shift, _ in self._updates),
                where=self._where,
            )
        )

    def on_end(self) -> None:
        self._copies.poll(wait=True)


OBSERVER = TokenWeights
