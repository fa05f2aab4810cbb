"""Forms that the operations of a loss have, whatever the variables are called: the logarithm of the probability of what
was done, its ratio to an older one, what a network was given, and actions that were squashed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

MOST_NODES = 600  # of a graph that is walked
CHAIN = 8  # operations between a log-probability and the choice of one action or token
NORMALISED = 4  # and from there to what normalises them
_KEPT = frozenset((
    "SumBackward1", "SumBackward0", "SqueezeBackward0", "SqueezeBackward1", "SelectBackward0", "SliceBackward0",
    "ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0", "MeanBackward1", "IndexBackward0",
    "UnsqueezeBackward0", "StackBackward0", "CatBackward0", "CloneBackward0", "AliasBackward0",
))  # fmt: skip
_NORMALISING = frozenset(("LogSoftmaxBackward0", "LogsumexpBackward0", "LogBackward0"))
_CORRECTING = frozenset(("LogBackward0", "Log1PBackward0", "SoftplusBackward0", "LogSigmoidBackward0"))


def is_log_probability(node: Any) -> bool:
    """Whether one of several normalised logarithms was chosen here: gathered, then summed or reshaped at most."""
    for _ in range(CHAIN):
        if node is None:
            return False
        if node.name() == "GatherBackward0":
            return _is_normalised(node.next_functions[0][0])
        if (node.name() not in _KEPT and not _is_masked(node)) or not node.next_functions:
            return False
        node = next((parent for parent, _ in node.next_functions if parent is not None), None)
    return False


def _is_masked(node: Any) -> bool:
    """A product with zeros and ones."""
    if node.name() != "MulBackward0":
        return False
    try:
        mask = node._saved_other if node.next_functions[1][0] is None else node._saved_self
    except RuntimeError:  # of a graph that an earlier `backward` has freed
        return False
    return mask is not None and not mask.requires_grad and bool(((mask == 0) | (mask == 1)).all())


def _is_normalised(node: Any) -> bool:
    waiting = [(node, NORMALISED)]
    while waiting:
        one, left = waiting.pop()
        if one is None or not left:
            continue
        if one.name() in _NORMALISING:
            return True
        if one.name() in _KEPT or one.name() in ("SubBackward0", "ExpandBackward0"):
            waiting += [(parent, left - 1) for parent, _ in one.next_functions]
    return False


def is_ratio(node: Any) -> bool:
    """exp(log p - log p_old), where no gradient flows to the older one."""
    if node is None or node.name() != "ExpBackward0":
        return False
    apart = node.next_functions[0][0]
    if apart is None or apart.name() != "SubBackward0":
        return False
    new, old = (parent for parent, _ in apart.next_functions)
    return old is None and is_log_probability(new)


def _nodes(start: Any) -> Iterator[Any]:
    waiting, seen = [start], {start}
    while waiting and len(seen) <= MOST_NODES:
        node = waiting.pop(0)
        yield node
        for parent, _ in node.next_functions:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)


def inputs_of(loss: torch.Tensor) -> list[torch.Tensor]:
    """The tables that first layers were given, as the graph of the loss keeps them."""
    found: list[torch.Tensor] = []
    for node in _nodes(loss.grad_fn) if loss.grad_fn is not None else ():
        if node.name() == "AddmmBackward0" and node.next_functions[1][0] is None:
            given = node._saved_mat1
            if given is not None and given.dim() == 2:
                found.append(given.detach())
    return found


def squashed_without_correction(loss: torch.Tensor) -> bool | None:
    """Whether the density of a draw that goes on through tanh is taken before tanh and stays uncorrected; None where
    the loss has no draw of this kind. A draw is where (draw - mean) is squared and the draw itself is squashed."""
    if loss.grad_fn is None:
        return None
    nodes = list(_nodes(loss.grad_fn))
    squashed = {node.next_functions[0][0] for node in nodes if node.name() == "TanhBackward0"} - {None}
    draws = set()
    for node in nodes:
        apart = node.next_functions[0][0] if node.name() == "PowBackward0" else None
        if apart is not None and apart.name() == "SubBackward0":
            draws |= {parent for parent, _ in apart.next_functions} & squashed
    if not draws:
        return None
    corrected = any(
        not draws.isdisjoint(_nodes(node)) for node in nodes if node.name() in _CORRECTING and node not in draws
    )
    return not corrected
