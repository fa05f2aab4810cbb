"""What is held of a step until it is known how it ended: for the post-mortem of one that ended in NaN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.measures.autopsy import Operand
from traindx.live.measures.tensors import tensors_in


@dataclass(slots=True)
class HeldStep:
    """What is held of one step."""

    number: int
    where: str = ""
    calls: list[tuple[torch.Tensor | None, torch.Tensor, str]] = field(
        default_factory=list
    )  # prediction, target, file:line
    operands: list[Operand] = field(default_factory=list)
    batch: Any = None
    indices: Sequence[int] | None = None  # of its samples in the data set
    bytes: int = 0  # of all that, once the step is over

    def size(self) -> int:
        held = [tensor for prediction, target, _ in self.calls for tensor in (prediction, target) if tensor is not None]
        held += [operand.tensor for operand in self.operands]
        return sum(tensor.nbytes for tensor in (*held, *tensors_in(self.batch)))

    def rows(self) -> int:
        """How many samples the batch has, as far as what is held tells."""
        held = (*(target for _, target, _ in self.calls), *(operand.tensor for operand in self.operands))
        return next((tensor.shape[0] for tensor in held if tensor.dim()), 0)

    def forget(self) -> None:
        self.where, self.batch, self.indices, self.bytes = "", None, None, 0
        self.calls.clear()
        self.operands.clear()
