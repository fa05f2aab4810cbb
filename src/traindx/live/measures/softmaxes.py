"""Measures the softmaxes inside a network: what they run over."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from traindx.live.measures.autopsy import nodes
from traindx.live.measures.nodes import dim_of, kind_of, shape_of
from traindx.measurements import LossOperation

MAX_NODES = 4000
MAX_KINDS = 12  # softmaxes of different shapes


def softmaxes_inside(loss: torch.Tensor, samples: int, where: str) -> Iterator[LossOperation]:
    """The different softmaxes behind a loss. `samples` are those of the batch."""
    found: set[tuple[tuple[int, ...], int | None]] = set()
    for node in nodes(loss.grad_fn, MAX_NODES) if loss.grad_fn is not None else ():
        if kind_of(node) != "Softmax" or len(found) >= MAX_KINDS:
            continue
        shape = shape_of(node)
        found.add((shape, dim_of(node, len(shape))))
    for shape, dim in sorted(found, key=lambda one: (one[1] or 0, one[0])):
        yield LossOperation(operation="Softmax", shape=shape, dim=dim, samples=samples, inside=True, where=where)
