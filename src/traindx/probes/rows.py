"""Other batches made of a captured one: some of its samples, or the same ones several times."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from traindx.probes.subject import Swap


def picking(size: int, picked: Sequence[int]) -> Swap:
    """Exchanges tensors with `size` samples for those with the picked ones. Targets that were flattened over time or
    pixels have a multiple of it as rows, a block for each sample. Other tensors stay."""

    def pick(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.dim() or not tensor.shape[0] or tensor.shape[0] % size:
            return tensor
        samples = torch.tensor(picked, device=tensor.device)
        if tensor.shape[0] == size:
            return tensor[samples]
        return tensor.reshape(size, -1, *tensor.shape[1:])[samples].flatten(0, 1)

    return pick
