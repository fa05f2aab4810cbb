"""Reading the autograd graph: which operation made a tensor, and what lies between a loss and the outputs.

Only names, shapes and plain integers of the nodes are read. Saved tensors are left alone: they may be packed by hooks
of the user, and reading them would run those."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

Node = Any  # torch has no public type for the nodes behind grad_fn
_SUFFIX = re.compile(r"Backward\d*$")
_REACH = 12  # reshapes and casts between an activation and the loss; more than this is another computation

# Operations that hand on the same numbers in another shape, order or precision.
RESHAPES = frozenset((
    "View", "UnsafeView", "ReshapeAlias", "AsStrided", "Squeeze", "Unsqueeze", "T", "Transpose", "Permute", "Movedim",
    "Clone",
    "Alias", "ToCopy", "Expand", "Unflatten", "Clamp",
))  # fmt: skip
CUTS = frozenset(
    ("Select", "Slice", "Index", "IndexSelect", "Split", "SplitWithSizes", "Unbind", "MaskedSelect", "Gather")
)


@dataclass(frozen=True, slots=True)
class Ending:
    """The operation whose result a tensor is, seen through reshapes, casts and cuts. `dim` is the dimension a softmax
    runs over, counted from the front; `whole` says that nothing was cut out of the result on the way."""

    kind: str = ""  # 'Softmax', 'LogSoftmax', 'Sigmoid', 'Addmm', …; '' where it cannot be seen
    shape: tuple[int, ...] = ()
    dim: int | None = None
    whole: bool = True

    @property
    def width(self) -> int | None:
        """How many numbers the softmax is taken over."""
        return None if self.dim is None or self.dim >= len(self.shape) else self.shape[self.dim]

    @property
    def opaque(self) -> bool:
        """A compiled graph or a custom function, whose inside cannot be seen; or no graph at all."""
        return not self.kind


def ending(tensor: torch.Tensor) -> Ending:
    """What made this tensor."""
    node: Node = tensor.grad_fn
    index, whole = tensor.output_nr, True
    for _ in range(_REACH):
        if node is None or isinstance(
            node, torch.autograd.function.BackwardCFunction
        ):  # written in Python: compiled or custom
            break
        kind = kind_of(node)
        if kind not in RESHAPES and kind not in CUTS:
            shape = shape_of(node, index)
            return Ending(kind, shape, dim_of(node, len(shape)), whole)
        whole = whole and kind in RESHAPES
        node, index = node.next_functions[0] if node.next_functions else (None, 0)
    return Ending()


def kind_of(node: Node) -> str:
    """'SoftmaxBackward0' → 'Softmax'."""
    return _SUFFIX.sub("", str(node.name()))


def shape_of(node: Node, index: int = 0) -> tuple[int, ...]:
    """The shape of a result of this node; () where the node does not tell."""
    known = getattr(node, "_input_metadata", ())
    try:
        return tuple(int(size) for size in known[index].shape)
    except (IndexError, RuntimeError, TypeError):
        return ()


def dim_of(node: Node, dimensions: int) -> int | None:
    """The dimension of a softmax. torch hands out negative ones as unsigned numbers."""
    saved = getattr(node, "_saved_dim", None)
    if not isinstance(saved, int) or not dimensions:
        return None
    return (saved - 2**64 if saved >= 2**63 else saved) % dimensions


def inputs(node: Node) -> list[tuple[Node, int]]:
    """The nodes whose results this one takes and that carry a gradient, with the number of the result."""
    return [(one, index) for one, index in node.next_functions if one is not None]


def above(loss: torch.Tensor, through: frozenset[str], limit: int = 48) -> Iterator[Node]:
    """The nodes between a loss and the network: breadth first, going on only through operations of these kinds."""
    waiting: list[Node] = [loss.grad_fn] if loss.grad_fn is not None else []
    seen: set[int] = set()
    while waiting and len(seen) < limit:
        node = waiting.pop(0)
        number = node._sequence_nr()
        if number in seen:
            continue
        seen.add(number)
        yield node
        if kind_of(node) in through:
            waiting += [one for one, _ in inputs(node)]


def chain(loss: torch.Tensor, through: frozenset[str], limit: int = 16) -> Iterator[Node]:
    """The nodes from a loss upwards as long as each has one differentiable input and is of these kinds; the first node
    of another kind is the last one given."""
    node: Node = loss.grad_fn
    for _ in range(limit):
        if node is None:
            return
        yield node
        before = inputs(node)
        if kind_of(node) not in through or len(before) != 1:
            return
        node = before[0][0]


def written(shape: tuple[int, ...]) -> str:
    """(64, 10), as torch's messages write it."""
    return f"({', '.join(str(size) for size in shape)})"
