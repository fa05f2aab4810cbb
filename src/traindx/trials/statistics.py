"""Mean and deviation of a stream of batches, by feature, settled after the first few."""

from __future__ import annotations

import torch

SETTLED = 20  # batches after which the scale stays


class Scale:
    """Features are the second dimension (channels of images), or the last of sequences."""

    def __init__(self) -> None:
        self._count = 0.0
        self._batches = 0
        self._sum: torch.Tensor | None = None
        self._squares: torch.Tensor | None = None

    @property
    def known(self) -> bool:
        return self._sum is not None

    def see(self, batch: torch.Tensor, whole: bool = False) -> None:
        """Take in a batch; with `whole`, one mean for all its numbers."""
        if self._batches >= SETTLED or not batch.numel():
            return
        self._batches += 1
        wide = batch.detach().double()
        wide = torch.nan_to_num(wide, 0.0, 0.0, 0.0)
        dims = _reduced(wide.dim(), whole)
        total, squares = wide.sum(dims, keepdim=True), (wide * wide).sum(dims, keepdim=True)
        self._count += wide.numel() / total.numel()
        self._sum = total if self._sum is None else self._sum + total
        self._squares = squares if self._squares is None else self._squares + squares

    def moments(self) -> tuple[torch.Tensor, torch.Tensor]:
        assert self._sum is not None
        assert self._squares is not None
        mean = self._sum / self._count
        spread = (self._squares / self._count - mean * mean).clamp(min=0).sqrt()
        return mean, torch.where(spread > 1e-8 * (1 + mean.abs()), spread, torch.ones_like(spread))

    def standardised(self, batch: torch.Tensor) -> torch.Tensor:
        mean, spread = self.moments()
        return ((batch.double() - mean) / spread).to(batch.dtype)


def _reduced(dims: int, whole: bool) -> tuple[int, ...]:
    if whole or dims <= 1:
        return tuple(range(dims))
    kept = dims - 1 if dims == 3 else 1
    return tuple(dim for dim in range(dims) if dim != kept)
