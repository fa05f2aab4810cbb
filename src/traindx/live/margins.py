"""A margin loss that is written out, `clamp(1 - label * score, min=0)`: it wants labels of -1 and 1. With 0 and 1 the samples of
label 0 cost the same whatever the score, and teach nothing."""

from __future__ import annotations

import torch

from traindx.live.findings import Finding
from traindx.live.nodes import above, inputs, kind_of
from traindx.live.rows import watchable

CUTTING = frozenset(("Clamp", "ClampMin", "Relu", "Maximum"))
TO_CUT = frozenset(("Mean", "Sum", "Add", "Mul", "Div", "Pow", "View", "Squeeze", "Unsqueeze", "ToCopy", "Clone"))
LEAST = 8  # labels


def margin_of_codes(loss: torch.Tensor) -> Finding | None:
    """Whether a loss cuts off a margin whose labels are all 0 or 1, and both occur. Saved tensors are read: no hook may pack them."""
    for node in above(loss, TO_CUT):
        if kind_of(node) not in CUTTING or len(inputs(node)) != 1:
            continue
        apart = inputs(node)[0][0]
        if kind_of(apart) not in ("Rsub", "Sub") or len(inputs(apart)) != 1:
            continue
        product = inputs(apart)[0][0]
        if kind_of(product) != "Mul" or len(inputs(product)) != 1:
            continue
        labels = product._saved_self if product.next_functions[0][0] is None else product._saved_other
        if not isinstance(labels, torch.Tensor) or not labels.dim() or not watchable(labels.detach()):
            return None
        if labels.numel() < LEAST or labels.numel() != labels.shape[0]:  # a table of pairs is a mask
            return None
        codes = labels.detach()
        zeros, ones = torch.stack([(codes == 0).sum(), (codes == 1).sum()]).tolist()
        text = f"The loss cuts off a margin minus label times score at zero; of {codes.numel()} labels {zeros} are 0 and {ones} are 1"
        if zeros + ones == codes.numel() and zeros and ones:
            return Finding(
                "codes-out-of-range", True, f"{text}: it wants -1 and 1, and those of label 0 teach it nothing.", 0.95
            )
        return Finding("codes-out-of-range", False, f"{text}.")
    return None
