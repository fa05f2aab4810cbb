"""Models that cannot be called on one rank alone."""

from __future__ import annotations

import torch

_SHARDED = frozenset({"FSDPModule", "FullyShardedDataParallel"})


def needs_other_ranks(model: torch.nn.Module) -> str | None:
    """Why a replay on this rank would wait for the others, in one sentence; None where it would not. Classes are known
    by name: importing them takes seconds."""
    kinds = {kind.__name__ for module in model.modules() for kind in type(module).__mro__}
    tensors = {type(tensor).__name__ for tensor in (*model.parameters(), *model.buffers())}
    if kinds & _SHARDED or "DTensor" in tensors:
        return "the parameters are sharded over ranks (FSDP or tensor parallel); probe the same model without sharding"
    several = (
        torch.distributed.is_available()
        and torch.distributed.is_initialized()
        and torch.distributed.get_world_size() > 1
    )
    if several and "SyncBatchNorm" in kinds:
        return "batch norm is synchronised over ranks; probe it on a single one"
    return None
