"""A loop that is written out, `h = act(h @ w + …)`: the states that one weight is multiplied with again and again, read
from the graph."""

from __future__ import annotations

from collections import deque

import torch

from traindx.live.measures.graph import nearest_leaf
from traindx.live.measures.nodes import Node, kind_of

MAX_NODES = 4000
MIN_USES = 6  # of one weight: fewer are heads that share it
# Where an operation has the state and the weight among its inputs, and what it saves of the state.
_PRODUCTS = {"Mm": (0, 1, "_saved_self"), "Addmm": (1, 2, "_saved_mat1")}


def states_in_loop(loss: torch.Tensor) -> tuple[list[torch.Tensor], tuple[int, ...]]:
    """The states of the longest loop behind a loss, in the order they were made, and the shape of its weight; none
    where no weight is used often enough. Saved tensors are read: no hook may pack them."""
    found: dict[int, list[tuple[int, torch.Tensor]]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for node in _nodes(loss):
        places = _PRODUCTS.get(kind_of(node))
        if places is None or len(node.next_functions) <= places[1]:
            continue
        state, weight = (node.next_functions[place][0] for place in places[:2])
        leaf = nearest_leaf(weight) if state is not None and weight is not None else None
        saved = getattr(node, places[2], None) if leaf is not None and leaf.dim() == 2 else None
        if leaf is not None and isinstance(saved, torch.Tensor):
            found.setdefault(id(leaf), []).append((node._sequence_nr(), saved.detach()))
            shapes[id(leaf)] = tuple(leaf.shape)
    longest = max(found, key=lambda one: len(found[one]), default=0)
    if not longest or len(found[longest]) < MIN_USES:
        return [], ()
    return [state for _, state in sorted(found[longest], key=lambda one: one[0])], shapes[longest]


def _nodes(loss: torch.Tensor) -> list[Node]:
    """The graph behind a loss, breadth first, as far as MAX_NODES."""
    line, seen = deque([loss.grad_fn]), {loss.grad_fn}
    nodes: list[Node] = []
    while line and len(nodes) < MAX_NODES:
        node = line.popleft()
        if node is None:
            continue
        nodes.append(node)
        for one, _ in node.next_functions:
            if one is not None and one not in seen:
                seen.add(one)
                line.append(one)
    return nodes
