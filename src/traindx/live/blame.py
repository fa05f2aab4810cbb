"""Who is to blame for a gradient that is not finite while the loss is: told from which parameters it reached.

A parameter whose gradient is finite vouches for every operation between it and the loss. What lies before only parameters
with bad gradients is suspect, and among the suspects the one next to the loss came first.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from traindx.live.autopsy import MOST_NODES, STEEP, nodes
from traindx.live.graph import nearest_leaf
from traindx.live.hub import Hub
from traindx.live.naming import layer_of, listed, model_parameters
from traindx.live.places import place


@dataclass(frozen=True, slots=True)
class Suspect:
    """`operation` as it is called in sentences ('' for a function of the user's own), and where it stands."""

    operation: str
    evidence: str
    where: str | None = None


def suspect_of(loss: torch.Tensor, hub: Hub) -> Suspect | None:
    """The operation that broke the gradients, where exactly one kind of operation is in question."""
    good, bad = _reached(loss)
    if not bad or len(bad) + len(good) > MOST_NODES:
        return None
    named = {identity: name for identity, (name, _) in model_parameters(hub).items()}
    hit = listed(layer_of(named.get(id(leaf), "a parameter without a name")) for leaf in bad[:64])
    fine = listed(dict.fromkeys(layer_of(named[id(leaf)]) for leaf in good[:64] if id(leaf) in named))
    found = list(_suspects(loss, {id(leaf) for leaf in good}))
    text = f"the loss is finite and the gradients of {hit} are not" + (f", those of {fine} are" if fine else "")
    kinds = {_kind(node) for node in found}
    if len(kinds) != 1:
        return Suspect("", text)
    node, kind = found[0], kinds.pop()
    layer = layer_name(node, hub)
    after = f" after layer {layer}" if layer else ""
    if kind:
        return Suspect(kind, f"{text}; the {kind}{after} lies before all of them")
    own = getattr(type(node), "_forward_cls", None)
    name = getattr(own, "__name__", "a custom function")
    return Suspect("", f"{text}: the backward of {name}{after} returned them", _line_of_backward(own))


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
