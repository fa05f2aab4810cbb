"""What looks at one aspect of a policy's objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch

from traindx.live.rl.frames import Variables
from traindx.live.rl.rollouts import Use

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub


class Part(ABC):
    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    @abstractmethod
    def look(self, loss: torch.Tensor, found: Variables, where: str, use: Use) -> str:
        """Measure; the family of the objective where this aspect tells it, else ''."""


def here(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers in host memory, in single precision or finer."""
    tensor = tensor.detach()
    tensor = tensor if tensor.is_cpu else tensor.cpu()
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def graded(found: Variables, *roles: str) -> tuple[str, torch.Tensor] | None:
    """The first tensor of these roles that a gradient flows to, and that was computed."""
    return next(((name, one) for name, one in found.all(*roles) if one.grad_fn is not None), None)


def plain(found: Variables, like: torch.Tensor, *roles: str) -> tuple[str, torch.Tensor] | None:
    """The first tensor of these roles with as many numbers that no gradient flows to."""
    return next(
        ((name, one) for name, one in found.all(*roles) if not one.requires_grad and one.numel() == like.numel()), None
    )


def counted(values: torch.Tensor, found: Variables) -> torch.Tensor:
    """The numbers that a mask of the answers counts; all of them where there is none of that shape."""
    values = here(values)
    for _, mask in found.all("mask"):
        if mask.shape == values.shape:
            kept = values[here(mask) > 0]
            if len(kept):
                return kept
    return values.reshape(-1)
