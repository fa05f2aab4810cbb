"""Norms of many tensors at once."""

from __future__ import annotations

import torch

LOW = (torch.bfloat16, torch.float16)


def norms_of(tensors: list[torch.Tensor]) -> torch.Tensor | None:
    """Their norms in one tensor, in single precision: half precision overflows at 65 504."""
    dense = [tensor.coalesce().values() if tensor.is_sparse else tensor for tensor in tensors]
    if not dense or any(type(tensor) not in (torch.Tensor, torch.nn.Parameter) for tensor in dense):
        return None
    if len({tensor.device for tensor in dense}) > 1:
        return None
    if any(tensor.dtype in LOW for tensor in dense):  # summed in single precision, without a copy of the tensors in it
        narrow = [tensor.float() if tensor.dtype is torch.float64 else tensor for tensor in dense]
        norms = torch._foreach_norm(narrow, 2, torch.float32)
    else:
        norms = torch._foreach_norm(dense)
    return torch.stack([norm.float() for norm in norms])


def norm_of(norms: torch.Tensor) -> torch.Tensor:
    """Of all of them together, by the same kind of operation: another one takes a GPU 60 ms to load."""
    return torch._foreach_norm([norms])[0]
