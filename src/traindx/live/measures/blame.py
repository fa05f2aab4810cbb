"""Measures which parameters a gradient that is not finite has reached while the loss is finite, and what it passed on
the way.

A parameter whose gradient is finite vouches for every operation between it and the loss. What lies before only
parameters with bad gradients is suspect, and among the suspects the one next to the loss came first."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.naming import layer_of, model_parameters
from traindx.live.events.places import place
from traindx.live.measures.autopsy import MOST_NODES, STEEP, nodes
from traindx.live.measures.graph import nearest_leaf
from traindx.live.measures.source import line_of
from traindx.measurements import GradientReach

MAX_NAMED = 4  # layers of each kind
MAX_LEAVES = 64  # whose names are looked up


def reach_of(loss: torch.Tensor, hub: Hub) -> GradientReach | None:
    """The layers with and without finite gradients, and the operations that only the former lie behind."""
    good, bad = _reached(loss)
    if not bad or len(bad) + len(good) > MOST_NODES:
        return None
    named = {identity: name for identity, (name, _) in model_parameters(hub).items()}
    nameless = "a parameter without a name"
    hit = list(dict.fromkeys(layer_of(named.get(id(leaf), nameless)) for leaf in bad[:MAX_LEAVES]))
    fine = list(dict.fromkeys(layer_of(named[id(leaf)]) for leaf in good[:MAX_LEAVES] if id(leaf) in named))
    found = list(_suspects(loss, {id(leaf) for leaf in good}))
    kinds = {_kind(node) for node in found}
    layer = layer_name(found[0], hub) if found else ""
    own = getattr(type(found[0]), "_forward_cls", None) if kinds == {""} else None
    line = _line_of_backward(own) if own is not None else None
    if len(kinds) == 1 and line is None:
        line = line_of(min(kinds), hub.models.values())
    return GradientReach(
        bad=tuple(hit[:MAX_NAMED]),
        bad_layers=len(hit),
        good=tuple(fine[:MAX_NAMED]),
        good_layers=len(fine),
        suspects=tuple(sorted(kinds)),
        layer=layer,
        function=getattr(own, "__name__", ""),
        line=line or "",
    )


def layer_name(node: Any, hub: Hub) -> str:
    """The layer whose output an operation works on."""
    leaf = nearest_leaf(node)
    named = model_parameters(hub)
    return layer_of(named[id(leaf)][0]) if leaf is not None and id(leaf) in named else ""


def _reached(loss: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Leaves behind a loss with finite gradients, and with others, output side first."""
    good: list[torch.Tensor] = []
    bad: list[torch.Tensor] = []
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        leaf = getattr(node, "variable", None)
        if leaf is not None and leaf.grad is not None and not leaf.grad.is_sparse:
            (good if bool(torch.isfinite(leaf.grad).all()) else bad).append(leaf)
    return good, bad


def _suspects(loss: torch.Tensor, good: set[int]) -> Iterator[Any]:
    """Operations that can break a gradient and have only bad leaves before them, next to the loss first."""
    for node in nodes(loss.grad_fn, MOST_NODES) if loss.grad_fn is not None else ():
        if (_is_steep(node) or _is_custom(node)) and not _leads_to(node, good):
            yield node


def _is_steep(node: Any) -> bool:
    name = node.name()
    if name == "PowBackward0":
        return isinstance(node._saved_exponent, int | float) and node._saved_exponent < 1
    if name == "DivBackward0":  # a constant divisor of zero would have shown in the loss
        return len(node.next_functions) > 1 and node.next_functions[1][0] is not None
    return name in STEEP


def _leads_to(start: Any, leaves: set[int]) -> bool:
    return any(id(getattr(node, "variable", None)) in leaves for node in nodes(start, MOST_NODES))


def _kind(node: Any) -> str:
    return "" if _is_custom(node) else STEEP[node.name()]


def _is_custom(node: Any) -> bool:
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def _line_of_backward(function: Any) -> str | None:
    try:
        _, line = inspect.getsourcelines(function.backward)
        path = inspect.getsourcefile(function.backward)
    except (OSError, TypeError, AttributeError):
        return None
    return place(path, line) if path else None
