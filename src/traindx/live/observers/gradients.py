"""The norm of the whole gradient, as often as its share of the budget allows, and what clipping does to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.hub import Hub, user_line
from traindx.live.later import Later
from traindx.live.norms import norms_of
from traindx.live.observer import Observer

SHARE = 0.2  # of the budget
CLIPPED_SHARE = 0.95
CLIPPED_BY = 20.0  # the norm is this many times what clipping leaves of it
SAMPLES = 30
MOST_SAMPLES = 2000


class Gradients(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._began = time.perf_counter()
        self._spent = 0.0
        self._main: int | None = None  # the first optimiser: the norms of others are not mixed with its own
        self._norms: list[float] = []  # before clipping
        self._max_norm = 0.0
        self._clip_at = ""
        self._clipped_step = -1
        self._told: bool | None = None

    def attach(self) -> None:
        for owner in (torch.nn.utils, torch.nn.utils.clip_grad):
            self.hub.patch(owner, "clip_grad_norm_", self._around_clip)

    def _around_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
            norm = original(parameters, max_norm, *args, **kwargs)
            if not self.hub.inside and isinstance(norm, torch.Tensor) and norm.numel() == 1:
                self._was_clipped(norm.detach().clone(), float(max_norm))
            return norm

        return clip_grad_norm_

    def _was_clipped(self, norm: torch.Tensor, max_norm: float) -> None:
        """The norm before clipping is the one that tells of the training; the one after is the clipping norm."""
        if self._clipped_step < 0:
            self._clip_at = user_line()
            self.hub.config(clip_grad_norm=max_norm)
        self._clipped_step, self._max_norm = self.hub.step, max_norm
        self.hub.record("grad_norm", norm)
        if len(self._norms) < MOST_SAMPLES:
            self._later.ask(norm.reshape(1), self._norms.extend)

    def on_step(self, optimizer: Optimizer) -> None:
        if self._main is None:
            self._main = id(optimizer)
        if id(optimizer) != self._main or self._clipped_step == self.hub.step:
            return
        now = time.perf_counter()
        if not self.hub.deep and self._spent > SHARE * self.hub.budget * (now - self._began):
            return
        norms = norms_of([p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
        if norms is not None:
            self.hub.record("grad_norm", torch.linalg.vector_norm(norms))
        self._spent += time.perf_counter() - now

    def on_updated(self, optimizer: Optimizer) -> None:
        if self.hub.deep:
            self._later.poll()
            self._judge()

    def on_end(self) -> None:
        self._later.poll(wait=True)
        self._judge()

    def _judge(self) -> None:
        if len(self._norms) < SAMPLES or self._max_norm <= 0:
            return
        cut = sum(norm > self._max_norm for norm in self._norms) / len(self._norms)
        middle = median(self._norms) / self._max_norm
        hard = cut >= CLIPPED_SHARE and middle >= CLIPPED_BY
        if hard != self._told:
            self._told = hard
            self.hub.fact(
                "clipped-hard", hard,
                f"Gradients are clipped to a norm of {self._max_norm:g} in {cut * 100:.0f} % of {len(self._norms)} steps; their norm is "
                f"{middle:.3g} times that in the middle.", where=self._clip_at or None,
            )  # fmt: skip


OBSERVER = Gradients
