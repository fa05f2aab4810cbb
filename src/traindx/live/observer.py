"""What an observer is. One module an observer in `observers/`; a module that defines OBSERVER is registered by being there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from traindx.live.hub import Hub


@dataclass(frozen=True, slots=True)
class Criterion:
    """One call of a loss function of torch.nn.functional."""

    name: str  # 'cross_entropy', 'mse_loss', …
    input: torch.Tensor
    target: torch.Tensor
    options: Mapping[str, Any]  # reduction, weight, ignore_index, … as they were given
    output: torch.Tensor
    where: str  # file:line of the user's code


class Observer:
    """Override what is of interest. Every call is guarded: an exception ends this observer, not the training. Nothing here
    may change a tensor, use torch's random numbers or synchronise a device, except where `hub.deep` says that this is one
    of the rare steps whose cost is budgeted."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    def attach(self) -> None:
        """Install patches of one's own with `hub.patch`."""

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        """A DataLoader handed out a batch after waiting `seconds` for it."""

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """A whole model was called (deep steps only). `hub.grad` and `model.training` tell the phase."""

    def on_glance(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """A whole model was called outside a deep step, after an observer asked for it with `hub.glance()`. No device may be
        synchronised here."""

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        """A layer was called (deep steps only)."""

    def on_criterion(self, call: Criterion) -> None:
        """A loss function was called, in training or under no_grad."""

    def on_backward(self, loss: torch.Tensor) -> None:
        """`backward` is about to run on this loss."""

    def on_gradients(self, loss: torch.Tensor) -> None:
        """`backward` has run."""

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The optimiser is about to update: the gradients are final."""

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        """The optimiser has updated the weights; `hub.step` is the number of updates before this one."""

    def on_end(self) -> None:
        """The training process ends (or the recording does)."""
