"""The way from a loss to those of its operations that can leave the finite numbers, learnt once.

The graph of a loss is built anew in every step but looks the same. Walking all of it costs a microsecond a node;
following the few branches that lead somewhere costs next to nothing."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import torch

from traindx.live.measures.autopsy import HELD, MOST_NODES, NEAR_LOSS, SMALL, STEEP, Operand, operand_of

MOST_ROUTES = (
    8  # kinds of losses; beyond this, and where the graph keeps changing, only what is near the loss is walked
)
MOST_CHANGES = 16


@dataclass(frozen=True, slots=True)
class _Turn:
    """One node on the way: a branch of an earlier one, and what it is called where it is one of those looked for."""

    parent: int
    branch: int
    name: str | None
    far: bool


class Routes:
    def __init__(self) -> None:
        self._turns: dict[tuple[str, ...], list[_Turn]] = {}  # by the names next to the loss
        self._changes = 0
        self.steep = False  # some operation's gradient can leave the finite numbers where its result does not

    def operands(self, loss: torch.Tensor, *, far: bool, anew: bool = False) -> list[Operand]:
        """What may be held of the operations before a loss; with `far`, of those deep inside the model too. `anew`
        learns the way again, in case the graph has grown where nothing was looked for."""
        root = loss.grad_fn
        if root is None:
            return []
        key = (root.name(), *(node.name() for node, _ in root.next_functions if node is not None))
        turns = self._turns.get(key)
        if turns is None or anew:
            if turns is None and len(self._turns) >= MOST_ROUTES:
                return []
            turns = self._turns[key] = self._learn(root)
        found = _follow(root, turns, far)
        if found is None:  # the graph looks different now
            self._changes += 1
            if self._changes <= MOST_CHANGES:
                turns = self._turns[key] = self._learn(root)
            return _follow(root, turns, far) or []
        return found

    def _learn(self, root: Any) -> list[_Turn]:
        turns = _turns_of(root)
        self.steep = self.steep or any(turn.name in STEEP for turn in turns)
        return turns


def _turns_of(root: Any) -> list[_Turn]:
    """Breadth first, as `autopsy.nodes` goes, keeping the nodes that lead to an operand."""
    line = deque([(root, -1, 0)])
    seen = {root}
    visited: list[tuple[int, int, str | None]] = []
    while line and len(visited) < MOST_NODES:
        node, parent, branch = line.popleft()
        visited.append((parent, branch, node.name() if operand_of(node) is not None else None))
        for index, (following, _) in enumerate(node.next_functions):
            if following is not None and following not in seen:
                seen.add(following)
                line.append((following, len(visited) - 1, index))
    needed: set[int] = set()
    for number, (_, _, name) in enumerate(visited):
        while name is not None and number >= 0 and number not in needed:
            needed.add(number)
            number = visited[number][0]
    places = {number: place for place, number in enumerate(sorted(needed))}
    return [
        _Turn(places.get(visited[number][0], -1), visited[number][1], visited[number][2], number >= NEAR_LOSS)
        for number in sorted(needed)
    ]


def _follow(root: Any, turns: list[_Turn], far: bool) -> list[Operand] | None:
    """The operands at the ends of the way, or None where it leads elsewhere."""
    nodes: list[Any] = []
    found: list[Operand] = []
    size = 0
    for turn in turns:
        if turn.far and not far:
            break
        node = root
        if turn.parent >= 0:
            branches = nodes[turn.parent].next_functions
            node = branches[turn.branch][0] if turn.branch < len(branches) else None
        if node is None:
            return None
        nodes.append(node)
        if turn.name is None:
            continue
        operand = operand_of(node) if node.name() == turn.name else None
        if operand is None:
            return None
        if operand.tensor.nbytes <= SMALL and size + operand.tensor.nbytes <= HELD:
            size += operand.tensor.nbytes
            found.append(operand)
    return found
