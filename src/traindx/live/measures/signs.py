"""Measures which way a loss that is written out turns the error: whether making the one small makes the other small
or large."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from traindx.live.measures.nodes import Node, inputs, kind_of

KEEP = frozenset(("Mean", "Sum", "Add", "View", "Squeeze", "ToCopy", "Sqrt", "Clone"))
_LIMIT = 48  # nodes between a loss and the errors in it


def sign_of_error(loss: torch.Tensor, measures: Callable[[Node], bool]) -> int:
    """1 where every error behind this loss counts with a plus, -1 where every one counts with a minus, 0 where there is
    none, they differ or it cannot be seen. `measures` knows the operation that makes an error."""
    waiting: list[tuple[Node, float]] = [(loss.grad_fn, 1.0)] if loss.grad_fn is not None else []
    signs: set[float] = set()
    seen = 0
    while waiting and seen < _LIMIT:
        node, sign = waiting.pop()
        seen += 1
        if measures(node):
            signs.add(math.copysign(1.0, sign) if sign else 0.0)
        else:
            waiting += [(one, sign * factor) for one, factor in _factors(node)]
    return int(signs.pop()) if len(signs) == 1 and not waiting else 0


def _factors(node: Node) -> list[tuple[Node, float]]:
    """What goes into an operation that only scales, turns or adds, each with the sign that it gives it; nothing for
    others."""
    kind, before = kind_of(node), inputs(node)
    if kind in KEEP:
        return [(one, 1.0) for one, _ in before]
    if kind == "Neg":
        return [(one, -1.0) for one, _ in before]
    if kind in ("Sub", "Rsub"):
        first = 1.0 if kind == "Sub" else -1.0
        sides = [one for one, _ in node.next_functions]
        return [(one, sign) for one, sign in zip(sides, (first, -first), strict=False) if one is not None]
    if kind in ("Mul", "Div") and len(before) == 1:
        ahead = node.next_functions[0][0] is not None
        by = node._saved_other if ahead else node._saved_self if kind == "Mul" else None
        if isinstance(by, torch.Tensor) and by.numel() == 1:
            return [(before[0][0], float(by.detach()))]
    return []
