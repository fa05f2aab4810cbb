"""Starts an arm in the middle of a training: the state that was kept after some update, with the loop where it was
then.

A loop cannot be entered in its middle, and the order of the data follows from all that was drawn before. So the script
runs from its beginning, with everything left out that no later step needs: forward passes run (they draw random
numbers, and the script may look at their results), `backward` and the updates do not. Its weights are those of the kept
state as soon as all optimisers are known, so that what the script sees meanwhile (losses, early stopping) is what it
saw then. At the update that was kept everything is set, and the arm begins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer

from traindx.live.recording import states
from traindx.trials import seeds

LATER = 17  # updates by which the data of the next pair lie further on


class Rewind:
    """`pair` 0 goes on exactly as the recording did. Others start from the same state too, a little further on in the
    data and with random numbers of their own. `begin` is called before the first forward pass that counts, with whether
    the order of the data is the recording's."""

    def __init__(self, path: Path, pair: int, begin: Callable[[bool], object]) -> None:
        self.state = states.load(path)
        self.pair = pair
        self.begin = begin
        self._at = int(self.state["step"]) + LATER * pair
        self._step = 0
        self._met = states.Met()
        self._aligned = True
        self._like_then = self._arrived = self._begun = False
        self._hooks = [
            torch_optimizer.register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: self._before(optimizer)),
            torch_optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self._after(optimizer)),
        ]
        _replace(torch.autograd, "backward", self._no_backward)
        _replace(torch.nn.Module, "__call__", self._called)
        _replace(torch.amp.GradScaler, "unscale_", self._nothing)
        _replace(torch.amp.GradScaler, "update", self._nothing)
        _replace(torch.amp.GradScaler, "step", self._bare_step)

    def _before(self, optimizer: Optimizer) -> None:
        """An optimiser leaves parameters without a gradient alone."""
        if not self._arrived:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = None

    def _after(self, optimizer: Optimizer) -> None:
        if self._arrived:
            return
        self._met.register(optimizer)
        self._step += 1
        if not self._like_then and len(self._met.alive()) == len(self.state["optimizers"]):
            states.restore_weights(self.state, self._met.alive())
            self._like_then = True
        if self._step == self._at:
            self._aligned = states.same_random_numbers(self.state) or bool(self.pair)
            states.restore(self.state, self._met.alive())
            if self.pair:
                seeds.settle(self.pair)
            self._arrived = True

    def _no_backward(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if self._begun else None

    def _nothing(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if self._begun else None

    def _bare_step(
        self, original: Callable[..., Any], scaler: Any, optimizer: Optimizer, *args: Any, **kwargs: Any
    ) -> Any:
        return original(scaler, optimizer, *args, **kwargs) if self._begun else optimizer.step(*args, **kwargs)

    def _called(self, original: Callable[..., Any], module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        """The first call of a model after the state was set is where the arm begins: by then no hook is at work, among
        which others could not be put."""
        if self._arrived and not self._begun:
            self._begun = True
            for hook in self._hooks:
                hook.remove()
            self.begin(self._aligned)
            return torch.nn.Module.__call__(module, *args, **kwargs)  # treatments may stand before it now
        return original(module, *args, **kwargs)


def _replace(owner: Any, name: str, instead: Callable[..., Any]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        return instead(original, *args, **kwargs)

    setattr(owner, name, replaced)
