"""Measures the norm of the whole gradient, as often as its share of the budget allows, and what clipping does to it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.norms import norm_of, norms_of
from traindx.live.recording.values import Number
from traindx.measurements import ClippedGradients

SHARE = 0.2  # of the budget
MAX_SAMPLES = 2000  # norms that are kept
GROWTH = 4  # measured again when a fourth as many have come: sorting them takes time


@dataclass(slots=True)
class _Clipping:
    """One way of clipping: by norm or by value."""

    where: str
    limit: float = 0.0
    before: list[Number] = field(default_factory=list)  # norms
    after: list[Number] = field(default_factory=list)  # by value only: what clipping by norm leaves is known
    due: int = 1  # norms before the next measurement

    def numbers(self) -> tuple[int, float, float] | None:
        """How many clippings are known, the share of them that cut, and the median norm by what is left of it."""
        if self.after:
            pairs = zip(self.before, self.after, strict=True)
            left = [after.value / before.value for before, after in pairs if after.value is not None and before.value]
            if not left:
                return None
            middle = median(left)
            return len(left), sum(one < 1 for one in left) / len(left), 1 / middle if middle else math.inf
        norms = [norm.value for norm in self.before if norm.value is not None]
        if not norms or self.limit <= 0:
            return None
        return len(norms), sum(norm > self.limit for norm in norms) / len(norms), median(norms) / self.limit


class Gradients(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._began = time.perf_counter()
        self._spent = 0.0
        self._main: int | None = None  # the first optimiser: the norms of others are not mixed with its own
        self._clippings: dict[str, _Clipping] = {}
        self._clipped_step = -1
        self._sgd = False  # updates are in proportion to the gradient
        self._rate: float | None = None

    def attach(self) -> None:
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            self.hub.patch(owner, "clip_grad_norm_", self._around_clip)
            self.hub.patch(owner, "clip_grad_value_", self._around_clip_value)

    def _around_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
            norm = original(parameters, max_norm, *args, **kwargs)
            if not self.hub.inside and isinstance(norm, torch.Tensor) and norm.numel() == 1:
                self.hub.guard(self, self._was_clipped, norm, float(max_norm))
            return norm

        return clip_grad_norm_

    def _around_clip_value(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_value_(parameters: Any, clip_value: float, *args: Any, **kwargs: Any) -> Any:
            given = parameters if isinstance(parameters, torch.Tensor) else list(parameters)
            if not self.hub.inside:
                self.hub.guard(self, self._about_to_clip, given, float(clip_value))
            return original(given, clip_value, *args, **kwargs)

        return clip_grad_value_

    def _clipping(self, by: str, limit: float) -> _Clipping:
        clipping = self._clippings.get(by)
        if clipping is None:
            clipping = self._clippings[by] = _Clipping(user_line())
            self.hub.config(**{f"clip_grad_{by}": limit})
        clipping.limit, self._clipped_step = limit, self.hub.step
        return clipping

    def _about_to_clip(self, parameters: Any, value: float) -> None:
        """Clipping by value hides the norm before it, so it is taken now."""
        clipping = self._clipping("value", value)
        if not self.hub.deep:
            return
        few = [parameters] if isinstance(parameters, torch.Tensor) else parameters
        gradients = [parameter.grad for parameter in few if parameter.grad is not None]
        before = norms_of(gradients)
        after = norms_of([gradient.clamp(-value, value) for gradient in gradients if not gradient.is_sparse])
        if before is None or after is None:
            return
        pair = [self.hub.values.fetch(norm_of(norms)) for norms in (before, after)]
        if pair[0] is not None and pair[1] is not None:
            self.hub.record("grad_norm", pair[0])
            if len(clipping.before) < MAX_SAMPLES:
                clipping.before.append(pair[0])
                clipping.after.append(pair[1])

    def _was_clipped(self, norm: torch.Tensor, max_norm: float) -> None:
        """The norm before clipping is the one that tells of the training; the one after is the clipping norm."""
        clipping = self._clipping("norm", max_norm)
        number = self.hub.values.fetch(norm)
        if number is not None:
            self.hub.record("grad_norm", number)
            if self.hub.deep:
                self.hub.record("norm_after_clipping", norm.detach().clamp(max=max_norm))
            if len(clipping.before) < MAX_SAMPLES:
                clipping.before.append(number)

    def on_step(self, optimizer: Optimizer) -> None:
        if self._main is None:
            self._main = id(optimizer)
            rate = optimizer.param_groups[0].get("lr")
            self._rate = rate if isinstance(rate, float) else None
            self._sgd = isinstance(optimizer, torch.optim.SGD)
        if id(optimizer) != self._main or self._clipped_step == self.hub.step:
            return
        now = time.perf_counter()
        if not self.hub.deep and self._spent > SHARE * self.hub.budget * (now - self._began):
            return
        norms = norms_of([p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
        if norms is not None:
            self.hub.record("grad_norm", norm_of(norms))
        self._spent += time.perf_counter() - now

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        for by, clipping in self._clippings.items():
            known = len(clipping.before)
            if known >= clipping.due:
                clipping.due = known + max(1, known // GROWTH)
                self._measure(by, clipping)

    def on_models_freed(self) -> None:
        self._main = None

    def on_end(self) -> None:
        self.hub.values.poll(wait=True)
        for by, clipping in self._clippings.items():
            self._measure(by, clipping)

    def _measure(self, by: str, clipping: _Clipping) -> None:
        numbers = clipping.numbers()
        if numbers is None:
            return
        looks, cut, times = numbers
        self.hub.measure(
            ClippedGradients(
                by=by,
                limit=clipping.limit,
                looks=looks,
                cut=cut,
                times=times,
                sgd=self._sgd,
                rate=self._rate,
                where=clipping.where,
            )
        )


OBSERVER = Gradients
