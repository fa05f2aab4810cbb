"""Whether gradients are cleared between updates and not before they are used, and whether several backward passes before one update are
averaged."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.hub import Hub, user_line
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.rows import watchable

STALE = 2  # updates with gradients left over from the one before, before it is called a fault
STALE_SHARE = 0.6  # of the updates looked at
CLEAN = 3
ACCUMULATED = 3  # updates that all took several backward passes
_REDUCED = ("NllLoss", "MseLoss", "BinaryCrossEntropy", "L1Loss", "SmoothL1Loss", "HuberLoss", "Mean", "CrossEntropy")


class _Watched:
    """One optimiser: whether its gradients were cleared since its last update."""

    def __init__(self) -> None:
        self._sample: weakref.ref[torch.Tensor] | None = None
        self.place = 0  # of its gradient in memory then
        self.ran = False  # `backward` has run since its last update
        self.cleared = True
        self.wiped = ""  # where zero_grad was called after that
        self.stale = self.clean = 0
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
        self._counts: list[int] = []
        self._said: dict[str, bool] = {}

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
                self._judge_wiping(seen, optimizer)
            sample = seen.sample
            gradient = sample.grad if sample is not None else None
            # `backward` adds in place; without it, or in another place, the gradients were put there by hand
            if seen.ran and gradient is not None:
                cleared = seen.cleared or _place(gradient) != seen.place
                seen.clean += cleared
                seen.stale += not cleared
            self._judge_clearing(seen)
        sample = seen.sample
        if sample is None or sample.grad is None:
            sample = next((p for group in optimizer.param_groups for p in group["params"] if p.grad is not None), None)
            seen.sample = sample
        seen.place = _place(sample.grad if sample is not None else None)
        seen.cleared = seen.ran = False
        seen.wiped = ""
        self._judge_accumulation(optimizer)

    def on_farewell(self) -> None:
        self._watched.clear()

    def _judge_clearing(self, seen: _Watched) -> None:
        looked = seen.stale + seen.clean
        if seen.stale >= STALE and seen.stale >= STALE_SHARE * looked:
            known = self._said.get("gradients-not-cleared") is True
            self._tell(
                "gradients-not-cleared", True,
                f"At {seen.stale} of {looked} updates looked at, the gradients of earlier updates had not been cleared: each backward "
                "pass adds to all those before.", None if known else user_line() or None,
            )  # fmt: skip
        elif seen.clean >= CLEAN and seen.stale <= 0.2 * looked:
            self._tell(
                "gradients-not-cleared", False, f"Gradients were cleared before each of {seen.clean} updates looked at."
            )

    def _judge_wiping(self, seen: _Watched, optimizer: Optimizer) -> None:
        lost = bool(seen.wiped) and _has_no_gradient(optimizer)
        seen.lost += lost
        seen.used += not lost
        looked = seen.lost + seen.used
        if seen.lost >= STALE and seen.lost >= STALE_SHARE * looked:
            self._tell(
                "gradients-wiped", True,
                f"At {seen.lost} of {looked} updates looked at, zero_grad() had cleared the gradients after backward(): the update had "
                "nothing to use.", seen.wiped if seen.wiped != "?" else None,
            )  # fmt: skip
        elif seen.used >= CLEAN and not seen.lost:
            self._tell(
                "gradients-wiped", False,
                f"The gradients of the last backward pass were there at each of {seen.used} updates looked at.",
            )  # fmt: skip

    def _judge_accumulation(self, optimizer: Optimizer) -> None:
        """Several passes from one line of the script, each on a plain mean over its batch."""
        passes, self._passes = self._passes, []
        if not passes or len(self._watched) != 1:
            return
        self._counts.append(len(passes) if len(set(passes)) == 1 and passes[0] else 1)
        if len(self._counts) < ACCUMULATED:
            return
        few = min(self._counts)
        if few > 1:
            # Adam does not see the size of a gradient, so that the fault costs little there
            clarity = 0.5 if "Adam" in type(optimizer).__name__ else 1.0
            self._tell(
                "accumulation-unscaled", True,
                f"{few} backward passes add up before each update, each on a mean that is not divided by {few}: the gradient is "
                f"{few} times that of one batch.", passes[0], clarity,
            )  # fmt: skip
        elif max(self._counts) == 1:
            self._tell("accumulation-unscaled", False, "One backward pass for each update, or each is scaled.")

    def _tell(
        self, identifier: str, present: bool, evidence: str, where: str | None = None, clarity: float = 1.0
    ) -> None:
        if self._said.get(identifier) != present:
            self._said[identifier] = present
            self.hub.fact(identifier, present, evidence, where=where, clarity=clarity)


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
