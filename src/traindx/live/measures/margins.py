"""Finds the labels of a margin loss that is written out, `clamp(1 - label * score, min=0)`."""

from __future__ import annotations

import torch

from traindx.live.measures.nodes import Node, above, inputs, kind_of
from traindx.live.measures.rows import watchable

CUTTING = frozenset(("Clamp", "ClampMin", "Relu", "Maximum"))
TO_CUT = frozenset(("Mean", "Sum", "Add", "Mul", "Div", "Pow", "View", "Squeeze", "Unsqueeze", "ToCopy", "Clone"))


def margin_labels(loss: torch.Tensor) -> torch.Tensor | None:
    """The labels, one for each sample, of a loss that cuts off a margin minus label times score. Saved tensors are
    read: no hook may pack them."""
    for node in above(loss, TO_CUT):
        product = _product(node)
        if product is not None:
            labels = product._saved_self if product.next_functions[0][0] is None else product._saved_other
            if not isinstance(labels, torch.Tensor) or not labels.dim() or not watchable(labels.detach()):
                return None
            return labels.detach() if labels.numel() == labels.shape[0] else None  # a table of pairs is a mask
    return None


def _product(node: Node) -> Node | None:
    """The product of label and score in `clamp(1 - label * score)`, where this node is the clamp."""
    if kind_of(node) not in CUTTING or len(inputs(node)) != 1:
        return None
    difference = inputs(node)[0][0]
    if kind_of(difference) not in ("Rsub", "Sub") or len(inputs(difference)) != 1:
        return None
    product = inputs(difference)[0][0]
    return product if kind_of(product) == "Mul" and len(inputs(product)) == 1 else None
