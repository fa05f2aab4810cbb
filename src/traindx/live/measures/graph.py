"""The autograd graph behind a loss, read without touching it: which parameters it reaches, and which activation
functions lie on the way, whether they were called as modules or as functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

MOST_NODES = 40_000  # a graph larger than this (an unrolled loop) is read in part
MOST_OF_SCORES = 48  # nodes between a loss and the product that its scores come from
NEAR = 12  # nodes upstream of an activation within which its layer is looked for
ACTIVATIONS = {
    "ReluBackward0": "relu", "ReluBackward1": "relu", "ThresholdBackward0": "relu", "SigmoidBackward0": "sigmoid",
    "TanhBackward0": "tanh",
}  # fmt: skip
# Operations that keep a network linear in its input, however many there are. Max pooling and batch norm are none, but
# nobody means them as the activation function.
_LINEAR = frozenset({
    "Addmm", "Mm", "Bmm", "Baddbmm", "Add", "Sub", "Neg", "T", "Transpose", "Permute", "View", "UnsafeView",
    "ReshapeAlias", "AsStrided", "Squeeze", "Unsqueeze", "Expand", "Convolution", "MkldnnConvolution",
    "CudnnConvolution", "Linear", "MkldnnLinear", "ToCopy", "Clone", "Select", "Slice", "Split", "Cat", "Stack",
    "AvgPool2D", "AvgPool1D", "Alias", "Mv", "ConstantPadNd", "AdaptiveAvgPool2D", "Mean", "Mul", "Div",
    "NativeDropout", "MaxPool2DWithIndices", "MaxPool1D", "Sum", "NativeBatchNorm", "CudnnBatchNorm",
    "MkldnnReshape",
})  # fmt: skip
# Operations without a slope: torch differentiates them, and the derivative is zero everywhere.
_STEPS = frozenset({"Sign", "Round", "Floor", "Ceil", "Trunc", "Sgn"})
_PRODUCTS = frozenset({"Addmm", "Mm", "Bmm", "Baddbmm", "Cdist", "EuclideanDist"})  # the last two inputs are compared
_LAYERS = frozenset(
    {"Addmm", "Mm", "Bmm", "Convolution", "MkldnnConvolution", "CudnnConvolution", "Linear", "MkldnnLinear"}
)


@dataclass(frozen=True, slots=True)
class Activation:
    """One call of an activation function. `hidden`: a layer follows it. `gate`: it multiplies something else."""

    kind: str
    node: Any
    hidden: bool
    gate: bool


@dataclass(slots=True)
class Graph:
    """`leaves` will receive a gradient; `activations` come output side first; `layers` counts multiplications by
    weights that learn, `in_series` the most layers on one way to the loss, and `linear` says that nothing non-linear
    lies between layers, frozen ones among them. `stops` names operations that may let no gradient through: those
    without a slope and functions whose backward the user wrote."""

    leaves: list[torch.Tensor] = field(default_factory=list)
    activations: list[Activation] = field(default_factory=list)
    layers: int = 0
    in_series: int = 0
    linear: bool = True
    whole: bool = True
    stops: set[str] = field(default_factory=set)


def graph_of(loss: torch.Tensor) -> Graph:
    """Everything reachable from a loss, breadth first. What a shortcut past a layer reached first is met again behind
    the layer: whether a layer follows an operation is asked of all its ways to the loss."""
    graph = Graph()
    if loss.grad_fn is None:
        return graph
    seen = {loss.grad_fn: 0}  # operations, and how many layers follow them on the way they were met
    level: list[tuple[Any, Any, int, bool]] = [(loss.grad_fn, None, 0, True)]
    while level:
        following: list[tuple[Any, Any, int, bool]] = []
        for node, child, below, first in level:
            if len(seen) > MOST_NODES:
                graph.whole = graph.linear = False
                return graph
            variable = getattr(node, "variable", None)
            if variable is not None:
                if first:
                    graph.leaves.append(variable)
                continue
            if first:
                _note(graph, node, child, below)
            following += _before(node, _follows(graph, node, below), seen)
        level = following
    return graph


def _before(node: Any, below: int, seen: dict[Any, int]) -> Iterator[tuple[Any, Any, int, bool]]:
    """What leads to an operation, where it is new or was not known to have a layer behind it."""
    for parent, _ in node.next_functions:
        if parent is None:
            continue
        known = seen.get(parent)
        if known is None or (below and not known):
            seen[parent] = below
            yield parent, node, below, known is None


def _note(graph: Graph, node: Any, child: Any, below: int) -> None:
    """What an operation is, by itself."""
    name = node.name()
    kind = _kind(node)
    if kind in _STEPS or isinstance(node, torch.autograd.function.BackwardCFunction):
        graph.stops.add(kind)
    if name in ACTIVATIONS:
        graph.activations.append(Activation(ACTIVATIONS[name], node, below > 0, _multiplies(child)))
    if kind in _LAYERS and any(_is_weight(parent) for parent, _ in node.next_functions):
        graph.layers += 1
        graph.in_series = max(graph.in_series, below + 1)


def _follows(graph: Graph, node: Any, below: int) -> int:
    """How many layers lie between what comes before this operation and the loss."""
    kind = _kind(node)
    if kind in _LAYERS and any(parent is None or _is_weight(parent) for parent, _ in node.next_functions):
        return below + 1  # by a weight that learns, or by one that is frozen
    if below and (kind not in _LINEAR or kind in _LAYERS or (kind in ("Mul", "Div") and _multiplies(node))):
        graph.linear = False
    return below


def _kind(node: Any) -> str:
    name: str = node.name()
    return name.rstrip("0123456789").removesuffix("Backward")


def nearest_leaf(node: Any) -> torch.Tensor | None:
    """The first parameter upstream of a node: for an activation, a parameter of the layer it belongs to."""
    level, count = [node], 0
    while level and count < NEAR:
        following = []
        for near in level:
            count += 1
            variable = getattr(near, "variable", None)
            if variable is not None:
                found: torch.Tensor = variable
                return found
            following += [parent for parent, _ in near.next_functions if parent is not None]
        level = following
    return None


def _multiplies(node: Any) -> bool:
    """Whether an operation is a product (or quotient) of two things that both depend on the parameters."""
    if node is None or not node.name().startswith(("Mul", "Div")):
        return False
    return sum(parent is not None for parent, _ in node.next_functions) > 1


def _is_weight(node: Any) -> bool:
    """Whether a node is a parameter, possibly transposed or cast."""
    for _ in range(4):
        if node is None:
            return False
        if getattr(node, "variable", None) is not None:
            return True
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        if len(parents) != 1:
            return False
        node = parents[0]
    return False


def of_pairs(scores: torch.Tensor) -> bool:
    """Whether scores multiply what the network made of the inputs with one another, as a contrastive loss does, or
    attention without a layer behind it; the scores of classes come from a layer's weights."""
    waiting = [scores.grad_fn]
    for _ in range(MOST_OF_SCORES):
        node = waiting.pop(0) if waiting else None
        if node is None:
            return False
        kind = _kind(node)
        if kind in _PRODUCTS:
            compared = [parent for parent, _ in node.next_functions[-2:]]
            return None not in compared and not any(map(_of_weights, compared))
        if kind in _LAYERS:
            return False
        waiting += [parent for parent, _ in node.next_functions if parent is not None]
    return False


def _of_weights(node: Any) -> bool:
    """Whether a node depends on parameters alone: a weight that is transposed, normalised or put together."""
    waiting = [node]
    for _ in range(NEAR):
        if not waiting:
            return True
        one = waiting.pop(0)
        if one is None:  # something without a gradient, as inputs are
            return False
        if getattr(one, "variable", None) is None:
            several = _kind(one) in _LAYERS
            waiting += [parent for parent, _ in one.next_functions if parent is not None or several]
    return False
