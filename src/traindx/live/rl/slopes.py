"""The derivative of a loss with respect to tensors on its way: log-probabilities, entropies, scores of answers.

Only the operations between the loss and those tensors run, once more than they would, and nothing is accumulated
anywhere. Functions whose backward somebody wrote in Python may change what they keep, so that a path through one is
left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MOST_NODES = 20_000  # of a graph that is searched for the tensors


def slopes(loss: torch.Tensor, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
    """One for each tensor; None where the loss does not depend on it or must not be asked."""
    wanted = {tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None}
    between = _between(loss.grad_fn, wanted)
    reached = [index for index, tensor in enumerate(tensors) if tensor.grad_fn in between]
    found: list[torch.Tensor | None] = [None] * len(tensors)
    if not reached or any(isinstance(node, torch.autograd.function.BackwardCFunction) for node in between):
        return found
    try:
        given = torch.autograd.grad(loss, [tensors[index] for index in reached], retain_graph=True, allow_unused=True)
    except RuntimeError:  # the graph was freed, or a tensor in it was changed in place: `backward` will say so itself
        return found
    for index, slope in zip(reached, given, strict=True):
        found[index] = slope.detach() if slope is not None else None
    return found


def _between(start: Any, wanted: set[Any]) -> set[Any]:
    """The operations that lie on a way from the loss to one of those that made the tensors, ends included; nothing
    where the graph is too large to tell."""
    if start is None or not wanted:
        return set()
    children: dict[Any, list[Any]] = {start: []}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for parent, _ in node.next_functions:
            if parent is None:
                continue
            known = children.get(parent)
            if known is None:
                children[parent] = [node]
                waiting.append(parent)
                if len(children) > MOST_NODES:
                    return set()
            else:
                known.append(node)
    found: set[Any] = set()
    waiting = [node for node in wanted if node in children]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += children[node]
    return found
