"""Whether documents that are packed into one row see each other: the model is called again with another token in the
first of them, without gradients, and the outputs of the later ones are compared."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

import torch

from traindx.live.measures.again import each, exchanged, states_of, untouched

MAX_TOKENS = 1 << 13  # of a row that is tried


@dataclass(slots=True)
class Crossing:
    """A call of a model, and the row of its batch in which another document begins at `boundary`."""

    model: weakref.ref[torch.nn.Module]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    ids: torch.Tensor
    row: int
    boundary: int
    end: int | None = None  # of the later ones, where padding follows

    def tried(self) -> tuple[float, float] | None:
        """How much later documents change with a token of the first, and between two equal calls, by the largest
        output; None where it cannot be tried."""
        model = self.model()
        if model is None or self.ids.shape[1] > MAX_TOKENS:
            return None
        rows = self.ids.shape[0]
        args, kwargs, ids = (_one(value, rows, self.row) for value in (self.args, self.kwargs, self.ids))
        place = self.boundary // 2
        different = (ids[0] != ids[0, place]).nonzero().flatten()
        if not len(different):
            return None
        other = ids.clone()
        other[0, place] = ids[0, different[0]]
        outputs: list[torch.Tensor | None] = []
        with untouched(model):
            outputs = [
                states_of(model, exchanged(args, ids, new), exchanged(kwargs, ids, new), ids)
                for new in (ids, ids, other)
            ]
        seen = [output[:, self.boundary : self.end].float() for output in outputs if output is not None]
        if len(seen) < 3:
            return None
        first, again, changed = seen
        size = float(first.abs().amax())
        numbers = (float((first - changed).abs().amax()), float((first - again).abs().amax()))
        if not size or not all(map(math.isfinite, (size, *numbers))):
            return None
        return numbers[0] / size, numbers[1] / size


def _one(value: Any, rows: int, row: int) -> Any:
    """The same arguments with one sample of the batch only."""
    if isinstance(value, torch.Tensor):
        return value[row : row + 1] if value.dim() and value.shape[0] == rows else value
    return each(value, lambda member: _one(member, rows, row))
