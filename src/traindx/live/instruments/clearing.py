"""Measures whether gradients are cleared between updates, whether they are there when an update uses them, and how many
backward passes add up before one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.rows import watchable
from traindx.measurements import BackwardPasses, ClearedGradients, GradientsAtUpdate

_REDUCED = ("NllLoss", "MseLoss", "BinaryCrossEntropy", "L1Loss", "SmoothL1Loss", "HuberLoss", "Mean", "CrossEntropy")


class _Watched:
    """One optimiser: whether its gradients were cleared since its last update."""

    def __init__(self) -> None:
        self._sample: weakref.ref[torch.Tensor] | None = None
        self.place = 0  # of its gradient in memory then
        self.ran = False  # `backward` has run since its last update
        self.cleared = True
        self.wiped = ""  # where zero_grad was called after that
        self.left_over = self.clean = 0
        self.line = ""  # of its update
        self.lost = self.used = 0  # updates without and with the gradients of the last backward pass

    @property
    def sample(self) -> torch.Tensor | None:
        """A parameter that had a gradient at the last update, while the user holds it."""
        return self._sample() if self._sample is not None else None

    @sample.setter
    def sample(self, parameter: torch.Tensor | None) -> None:
        self._sample = weakref.ref(parameter) if parameter is not None else None


class Clearing(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._watched: dict[int, _Watched] = {}
        self._passes: list[str] = []  # where backward was called since the last update
        self._fewest = self._most = self._updates = 0  # passes before an update, over the updates looked at

    def attach(self) -> None:
        self.hub.patch(Optimizer, "zero_grad", self._around_optimizer)
        self.hub.patch(torch.nn.Module, "zero_grad", self._around_module)

    def _around_optimizer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            self._passes.clear()
            seen = self._watched.get(id(optimizer))
            if seen is not None:
                self._clear(seen)
            return original(optimizer, *args, **kwargs)

        return zero_grad

    def _around_module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            self._passes.clear()
            for seen in self._watched.values():
                self._clear(seen)
            return original(module, *args, **kwargs)

        return zero_grad

    def _clear(self, seen: _Watched) -> None:
        seen.cleared = True
        if seen.ran and self.hub.deep and not seen.wiped:
            seen.wiped = user_line() or "?"

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        for seen in self._watched.values():
            seen.ran = True
            seen.wiped = ""
        if not self.hub.deep:
            return
        for seen in self._watched.values():
            sample = seen.sample
            if not seen.cleared and sample is not None:
                gradient = sample.grad
                seen.cleared = gradient is None or not bool(gradient.any())  # zeroed by hand
        if len(self._passes) < 1000:
            self._passes.append(user_line() if _is_plain_mean(loss) else "")

    def on_step(self, optimizer: Optimizer) -> None:
        seen = self._watched.get(id(optimizer))
        if seen is None:
            seen = self._watched[id(optimizer)] = _Watched()
        elif not self.hub.deep:
            seen.cleared = seen.ran = False
            seen.wiped = ""
            return
        else:
            if seen.ran:
                self._measure_wiping(seen, optimizer)
            sample = seen.sample
            gradient = sample.grad if sample is not None else None
            # `backward` adds in place; without it, or in another place, the gradients were put there by hand
            if seen.ran and gradient is not None:
                cleared = seen.cleared or _place(gradient) != seen.place
                seen.clean += cleared
                seen.left_over += not cleared
                seen.line = seen.line or user_line()
                self.hub.measure(ClearedGradients(left_over=seen.left_over, cleared=seen.clean, where=seen.line))
        sample = seen.sample
        if sample is None or sample.grad is None:
            sample = next((p for group in optimizer.param_groups for p in group["params"] if p.grad is not None), None)
            seen.sample = sample
        seen.place = _place(sample.grad if sample is not None else None)
        seen.cleared = seen.ran = False
        seen.wiped = ""
        self._measure_accumulation(optimizer)

    def on_models_freed(self) -> None:
        self._watched.clear()

    def _measure_wiping(self, seen: _Watched, optimizer: Optimizer) -> None:
        lost = bool(seen.wiped) and _has_no_gradient(optimizer)
        seen.lost += lost
        seen.used += not lost
        where = seen.wiped if lost and seen.wiped != "?" else ""
        self.hub.measure(GradientsAtUpdate(missing=seen.lost, used=seen.used, where=where))

    def _measure_accumulation(self, optimizer: Optimizer) -> None:
        """Several passes from one line of the script, each on a plain mean over its batch."""
        passes, self._passes = self._passes, []
        if not passes or len(self._watched) != 1:
            return
        count = len(passes) if len(set(passes)) == 1 and passes[0] else 1
        self._fewest = min(self._fewest, count) if self._updates else count
        self._most = max(self._most, count)
        self._updates += 1
        self.hub.measure(
            BackwardPasses(
                fewest=self._fewest, most=self._most, updates=self._updates, optimizer=type(optimizer).__name__,
                where=passes[0] if count > 1 else "",
            )
        )  # fmt: skip


def _place(gradient: torch.Tensor | None) -> int:
    """Where in memory; 0 for one that has no single place."""
    return gradient.data_ptr() if gradient is not None and watchable(gradient) and not gradient.is_sparse else 0


def _has_no_gradient(optimizer: Optimizer) -> bool:
    """None of its parameters has one, or the first that has holds zeros."""
    gradients = (p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None)
    first = next(gradients, None)
    return first is None or (watchable(first) and not first.is_sparse and not bool(first.any()))


def _is_plain_mean(loss: torch.Tensor) -> bool:
    """The loss is what a loss function returned, not divided or weighted afterwards."""
    return loss.grad_fn is not None and loss.grad_fn.name().startswith(_REDUCED)


OBSERVER = Clearing
