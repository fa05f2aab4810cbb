"""Measures a regression loss that is written out, `((p - y) ** 2).mean()`, as the call of a loss function that torch
never sees.

The graph keeps the difference for its gradient, and the prediction is what an activation saved or what the model gave
back; the target is what is left between the two."""

from __future__ import annotations

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.events.places import user_line
from traindx.live.measures.nodes import RESHAPES, Node, above, inputs, kind_of
from traindx.live.measures.source import line_of
from traindx.loss_functions import ABSOLUTE, SQUARED

THROUGH = frozenset(("Mean", "Sum", "Mul", "Div", "Add", "View", "Squeeze", "ToCopy", "Sqrt", "Clone"))
KEEP_RESULT = frozenset(("Softmax", "Sigmoid", "Tanh", "Relu"))  # activations that save what they put out
_REACH = 8  # reshapes between the model's output and the difference
WHOLE = 1e-5  # how far rounding moves a target of 0 or 1 when prediction and difference are put together again


def written_out(loss: torch.Tensor, output: torch.Tensor | None) -> Criterion | None:
    """The first squared or absolute difference behind a loss, as a call; None where there is none or it cannot be
    read."""
    for node in above(loss, THROUGH):
        name = _measures(node)
        before = inputs(node)
        if not name or kind_of(before[0][0]) != "Sub":
            continue
        apart: torch.Tensor = node._saved_self.detach()
        sides = [parent for parent, _ in before[0][0].next_functions]
        if len(sides) != 2 or sum(side is not None for side in sides) != 1 or before[0][0]._saved_alpha != 1:
            return None
        predicted = _prediction(sides[0] or sides[1], output, apart)
        if predicted is None:
            return None
        given = predicted.detach()
        target = given - apart if sides[0] is not None else given + apart
        near = target.round()
        target = torch.where((target - near).abs() < WHOLE, near, target)
        return Criterion(
            name, predicted, target, {}, loss, line_of("power" if name == SQUARED else "abs", ()) or user_line()
        )
    return None


def is_error(node: Node) -> bool:
    """Whether an operation squares what lies between a prediction and something that is not learnt, or takes its
    size."""
    if not _measures(node):
        return False
    difference = inputs(node)[0][0]
    return kind_of(difference) in ("Sub", "Rsub") and len(inputs(difference)) == 1


def _measures(node: Node) -> str:
    """What an operation makes of a difference."""
    kind, before = kind_of(node), inputs(node)
    if len({parent for parent, _ in before}) != 1:
        return ""
    if (kind == "Pow" and node._saved_exponent == 2) or (kind == "Mul" and len(before) == 2):
        return SQUARED
    return ABSOLUTE if kind == "Abs" else ""


def _prediction(node: Node, output: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor | None:
    """The numbers that a target was taken from, in the shape of the difference."""
    last = output.grad_fn if output is not None else None
    for _ in range(_REACH):
        if output is not None and node is last:
            return _shaped(output, like)
        if kind_of(node) in KEEP_RESULT:
            return _shaped(node._saved_result, like)
        before = inputs(node)
        if kind_of(node) not in RESHAPES or len(before) != 1:
            return None
        node = before[0][0]
    return None


def _shaped(predicted: torch.Tensor, like: torch.Tensor) -> torch.Tensor | None:
    with torch.enable_grad():  # what made the prediction is still asked for
        return predicted.reshape(like.shape) if predicted.numel() == like.numel() else None
