"""The norm of the whole gradient, as often as its share of the budget allows, and what clipping does to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.hub import Hub, user_line
from traindx.live.norms import norm_of, norms_of
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.values import Number

SHARE = 0.2  # of the budget
CLIPPED_SHARE = 0.95
CLIPPED_BY = 20.0  # the norm is this many times what clipping leaves of it
CLIPPED_PLAIN = 6.0  # for SGD, whose updates are as long as what is left,
MADE_UP = 1.0  # unless its rate makes up for it, as language models with rates of 20 and norms of 0.25 do
BORDERLINE = 0.5  # clarity between the two
SAMPLES = 30
MOST_SAMPLES = 2000
VALUE_LOOKS = 3  # clipping by value is looked at on deep steps only, and does the same on each


class Gradients(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._began = time.perf_counter()
        self._spent = 0.0
        self._main: int | None = None  # the first optimiser: the norms of others are not mixed with its own
        self._norms: list[Number] = []  # before clipping
        self._max_norm = 0.0
        self._by_value: list[tuple[Number, Number]] = []  # norms before and after clipping by value
        self._value = 0.0
        self._clip_at = ""
        self._clipped_step = -1
        self._told: bool | None = None
        self._plain = False  # updates are in proportion to the gradient

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

    def _about_to_clip(self, parameters: Any, value: float) -> None:
        """Clipping by value hides the norm before it, so it is taken now."""
        if self._clipped_step < 0:
            self._clip_at = user_line()
            self.hub.config(clip_grad_value=value)
        self._clipped_step, self._value = self.hub.step, value
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
            self._by_value.append((pair[0], pair[1]))

    def _was_clipped(self, norm: torch.Tensor, max_norm: float) -> None:
        """The norm before clipping is the one that tells of the training; the one after is the clipping norm."""
        if self._clipped_step < 0:
            self._clip_at = user_line()
            self.hub.config(clip_grad_norm=max_norm)
        self._clipped_step, self._max_norm = self.hub.step, max_norm
        number = self.hub.values.fetch(norm)
        if number is not None:
            self.hub.record("grad_norm", number)
            if self.hub.deep:
                self.hub.record("norm_after_clipping", norm.detach().clamp(max=max_norm))
            if len(self._norms) < MOST_SAMPLES:
                self._norms.append(number)

    def on_step(self, optimizer: Optimizer) -> None:
        if self._main is None:
            self._main = id(optimizer)
            rate = optimizer.param_groups[0].get("lr")
            self._plain = isinstance(optimizer, torch.optim.SGD) and isinstance(rate, float) and rate < MADE_UP
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
        self._judge()

    def on_farewell(self) -> None:
        self._main = None

    def on_end(self) -> None:
        self.hub.values.poll(wait=True)
        self._judge()

    def _judge(self) -> None:
        shares = [a.value / b.value for b, a in self._by_value if a.value is not None and b.value]
        if len(shares) >= VALUE_LOOKS:
            left = median(shares)
            self._tell(
                left * CLIPPED_BY <= 1,
                f"Gradients are clipped to values of ±{self._value:g}, which leaves {left:.2g} of their norm in the middle of "
                f"{len(shares)} steps.",
            )  # fmt: skip
        norms = [norm.value for norm in self._norms if norm.value is not None]
        if len(norms) < SAMPLES or self._max_norm <= 0:
            return
        cut = sum(norm > self._max_norm for norm in norms) / len(norms)
        middle = median(norms) / self._max_norm
        hard = CLIPPED_PLAIN if self._plain else CLIPPED_BY
        self._tell(
            cut >= CLIPPED_SHARE and middle >= hard,
            f"Gradients are clipped to a norm of {self._max_norm:g} in {cut * 100:.0f} % of {len(norms)} steps; their norm is "
            f"{middle:.3g} times that in the middle.",
            1.0 if middle >= CLIPPED_BY else BORDERLINE,
        )

    def _tell(self, hard: bool, evidence: str, clarity: float = 1.0) -> None:
        if hard != self._told:
            self._told = hard
            self.hub.fact("clipped-hard", hard, evidence, where=self._clip_at or None, clarity=clarity if hard else 1.0)


OBSERVER = Gradients
