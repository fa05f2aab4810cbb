"""A softmax inside the network that runs over the samples of the batch: attention that mixes what has nothing in common."""

from __future__ import annotations

import torch

from traindx.live.autopsy import nodes
from traindx.live.findings import Finding
from traindx.live.nodes import dim_of, kind_of, shape_of, written

MOST_NODES = 4000
LEAST_SAMPLES = 4


def over_samples(loss: torch.Tensor, samples: int) -> Finding | None:
    """The first softmax over the first dimension of weights between positions, where that dimension counts the samples and nothing
    else does: in data that has time first, the weights of a sequence are not square behind it."""
    if loss.grad_fn is None or samples < LEAST_SAMPLES:
        return None
    for node in nodes(loss.grad_fn, MOST_NODES):
        if kind_of(node) != "Softmax":
            continue
        shape = shape_of(node)
        square = len(shape) >= 3 and shape[-1] == shape[-2] > 1
        if square and dim_of(node, len(shape)) == 0 and shape[0] == samples and samples not in shape[1:]:
            text = f"A softmax inside the model runs over dimension 0 of {written(shape)}, the {samples} samples of the batch: it weighs them against each other."
            return Finding("softmax-over-wrong-dim", True, text)
    return None
