"""Losses of tokens that are written out: log-softmax and gather instead of a loss function, and masks that are
multiplied in afterwards. Both are read from the graph of the loss."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.measures.nodes import RESHAPES, Node, above, inputs, kind_of
from traindx.live.tokens.batch import MAX_KEPT, MAX_LENGTH, MAX_ROWS, Targets

THROUGH = RESHAPES | {"Mean", "Sum", "Mul", "Div", "Add", "Sub", "Neg", "Index", "MaskedSelect", "MaskedFill", "Where"}
LIMIT = 64  # operations between a loss and its tokens


def mask_of(loss: torch.Tensor, count: int) -> torch.Tensor | None:
    """What each of so many losses is multiplied with before they become one number; None where nothing is."""
    for node in above(loss, frozenset(THROUGH), LIMIT):
        found = _mask(node)
        if found is not None and found.numel() == count and found.numel() > 1:
            return found.detach().cpu() != 0
    return None


def _mask(node: Node) -> torch.Tensor | None:
    """What an operation keeps of the losses, where it leaves some of them out."""
    kind = kind_of(node)
    if kind == "MaskedFill":
        filled = _tensor(getattr(node, "_saved_mask", None))
        return None if filled is None else ~filled
    if kind == "Where":
        return _chosen(node)
    if kind == "Mul" and len(inputs(node)) == 1:
        saved = [getattr(node, name, None) for name in ("_saved_other", "_saved_self")]
        return next((one for one in saved if isinstance(one, torch.Tensor)), None)
    if kind == "MaskedSelect":
        return _tensor(getattr(node, "_saved_mask", None))
    if kind == "Index":
        chosen = [one for one in getattr(node, "_saved_indices", ()) if isinstance(one, torch.Tensor)]
        return chosen[0] if len(chosen) == 1 and chosen[0].dtype == torch.bool else None
    return None


def _chosen(node: Node) -> torch.Tensor | None:
    """Where `torch.where` takes the losses and not the number instead of them."""
    condition = _tensor(getattr(node, "_saved_condition", None))
    here, instead = (node.next_functions[number][0] is not None for number in (0, 1))
    if condition is None or here == instead:
        return None
    return condition if here else ~condition


def _tensor(value: Any) -> torch.Tensor | None:
    return value if isinstance(value, torch.Tensor) else None


def gathered(loss: torch.Tensor, texts: list[tuple[torch.Tensor, int]], where: str) -> Targets | None:
    """The targets of a loss that picks their log-probabilities by itself."""
    for node in above(loss, frozenset(THROUGH), LIMIT):
        picked = _picked(node)
        if picked is None:
            continue
        for ids, size in texts:
            rows, length = ids.shape
            width = picked.numel() // rows
            if width * rows != picked.numel() or width not in (length, length - 1):
                continue
            values = picked.detach().reshape(rows, width)[:MAX_ROWS, :MAX_LENGTH].cpu().long()
            few = ids.detach()[:MAX_ROWS, :MAX_LENGTH].cpu().long()
            losses = _losses(node, picked, rows, width)
            return Targets(
                values, values >= 0, losses, few, size, None, where, reduced=False, rows=rows
            )  # fmt: skip
    return None


def _picked(node: Node) -> torch.Tensor | None:
    kind = kind_of(node)
    if kind == "Gather":
        index = _tensor(getattr(node, "_saved_index", None))
        return index if index is not None and index.dim() >= 2 and index.shape[-1] == 1 else None
    if kind == "Index":
        chosen = [one for one in getattr(node, "_saved_indices", ()) if isinstance(one, torch.Tensor)]
        return chosen[-1] if len(chosen) >= 2 and chosen[-1].dtype == torch.int64 else None
    return None


def _losses(node: Node, picked: torch.Tensor, rows: int, width: int) -> torch.Tensor | None:
    below = inputs(node)[0][0] if inputs(node) else None
    for _ in range(4):
        if below is None or kind_of(below) not in RESHAPES:
            break
        below = inputs(below)[0][0] if inputs(below) else None
    if below is None or kind_of(below) != "LogSoftmax":
        return None
    scores: torch.Tensor = below._saved_result.detach()
    if scores.numel() != rows * width * scores.shape[-1]:
        return None
    kept = scores.reshape(rows, width, -1)[:MAX_KEPT, :MAX_LENGTH]
    wanted = picked.detach().reshape(rows, width)[:MAX_KEPT, :MAX_LENGTH]
    return -kept.gather(2, wanted.unsqueeze(2)).squeeze(2).float().cpu()
