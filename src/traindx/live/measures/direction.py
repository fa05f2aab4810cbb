"""Measures which way updates go: against the gradient of the loss, or along it. A few numbers of each weight are
compared just before and just after an update, so that it holds for optimisers of any kind, those of the user among
them."""

from __future__ import annotations

import torch

from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy

MAX_LOOKS = 3  # updates, the first ones of the training: momentum and weight decay may turn later ones
ALONG = 0.3  # cosine from which a change of the weights counts as an update that is made by hand
WEIGHTS = 16
SAMPLE = 1024  # numbers of each


class Direction:
    """The cosines between the first updates that are looked at and the gradients they were made from."""

    def __init__(self) -> None:
        self._copies = AsyncCopy()
        self._before: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []  # weight, some values, their gradients
        self._asked = 0
        self.cosines: list[float] = []

    def before(self, optimizer: torch.optim.Optimizer) -> None:
        self._before.clear()
        if self._asked >= MAX_LOOKS:
            return
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self._before = [
            (p, _few(p).clone(), _few(p.grad).clone()) for p in held[:WEIGHTS] if _is_plain(p) and _is_plain(p.grad)
        ]

    def after(self) -> None:
        if self._before:
            gradient = torch.cat([gradient for _, _, gradient in self._before])
            change = torch.cat([_few(weight) - was for weight, was, _ in self._before])
            self._asked += 1
            self._copies.bring_all((gradient, change), self._take)
            self._before.clear()
        self._copies.poll()

    def _take(self, gradient: torch.Tensor, change: torch.Tensor) -> None:
        sizes = float(gradient.norm() * change.norm())
        if sizes > 0:
            self.cosines.append(float((gradient * change).sum()) / sizes)


def _is_plain(tensor: torch.Tensor) -> bool:
    return watchable(tensor) and tensor.layout == torch.strided and not tensor.is_complex()


def _few(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1)[:SAMPLE].float()
