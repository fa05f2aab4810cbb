"""Measures how large scores grow before a softmax: those between queries and keys, and those a loss takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import LogitSizes

MAX_TOKENS, MAX_HEADS = 64, 4  # of one call of attention
MAX_ROWS = 256  # of the scores a loss takes
ENDS = 5  # looks that the first and the last values are medians of
KEPT = 4096


class Logits(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._seen: dict[str, list[float]] = {}  # the largest score of each step looked at, by kind
        self._sums: list[float] = []
        self._now: dict[str, float] = {}
        self._where: dict[str, str] = {}

    def attach(self) -> None:
        self.hub.patch(torch.nn.functional, "scaled_dot_product_attention", self._around_attention)

    def _around_attention(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scaled_dot_product_attention(query: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
            if self.hub.deep and not torch.compiler.is_compiling() and torch.is_grad_enabled() and not self.hub.inside:
                self.hub.guard(self, self._look_at_attention, query, key, kwargs.get("scale"))
            return original(query, key, *args, **kwargs)

        return scaled_dot_product_attention

    def _look_at_attention(self, query: torch.Tensor, key: torch.Tensor, scale: float | None) -> None:
        """Some heads and places of the first sample; the mask of causality is not needed for a largest value."""
        if not (watchable(query.detach()) and watchable(key.detach())) or query.dim() != 4 or key.dim() != 4:
            return
        heads = min(MAX_HEADS, key.shape[1])
        some, others = query[0, :heads, :MAX_TOKENS].detach().float(), key[0, :heads, :MAX_TOKENS].detach().float()
        if some.shape[-1] != others.shape[-1]:
            return
        factor = scale if scale is not None else 1 / math.sqrt(query.shape[-1])
        self._where.setdefault("attention", user_line())
        self._ask("attention", (some @ others.transpose(-1, -2)).abs().max() * factor)

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        scores = call.input
        if call.name != "cross_entropy" or not call.output.requires_grad or scores.dim() != 2:
            return
        if not watchable(scores.detach()):
            return
        rows = scores.detach()[:: len(scores) // MAX_ROWS + 1].float()
        self._where.setdefault("output", call.where)
        self._ask("output", rows.abs().max())
        self._copies.ask(rows.logsumexp(-1).abs().median(), self._sums.append)

    def _ask(self, kind: str, value: torch.Tensor) -> None:
        def take(number: float) -> None:
            if math.isfinite(number):
                self._now[kind] = max(number, self._now.get(kind, 0.0))

        self._copies.ask(value, take)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()
        for kind, value in self._now.items():
            seen = self._seen.setdefault(kind, [])
            if len(seen) < KEPT:
                seen.append(value)
            self.hub.record(f"logit_max/{kind}", value)
            self._measure(kind, seen)
        self._now = {}
        del self._sums[ENDS:-ENDS]

    def _measure(self, kind: str, seen: list[float]) -> None:
        output = kind == "output" and bool(self._sums)
        self.hub.measure(
            LogitSizes(
                scores=kind,
                looks=len(seen),
                first=median(seen[:ENDS]),
                last=median(seen[-ENDS:]),
                peak=max(seen),
                log_sum=median(self._sums[-ENDS:]) if output else 0.0,
                first_log_sum=median(self._sums[:ENDS]) if output else 0.0,
                where=self._where.get(kind, ""),
            )
        )

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        for kind, seen in self._seen.items():
            self._measure(kind, seen)


OBSERVER = Logits
