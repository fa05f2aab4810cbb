"""The hidden layers of a model, and which of them feeds which."""

from __future__ import annotations

from typing import Any

import torch

CONVOLUTIONS = (torch.nn.modules.conv._ConvNd,)
DENSE = (torch.nn.Linear, *CONVOLUTIONS)
FAR = 6  # operations between two layers: activation, normalisation, dropout, reshaping


def hidden_layers(model: torch.nn.Module) -> list[torch.nn.Module]:
    """All linear and convolutional layers but the last, which makes the output."""
    layers: list[torch.nn.Module] = [layer for layer in model.modules() if isinstance(layer, DENSE)]
    return layers[:-1]


def feeds(source: Any, node: Any) -> bool:
    """Whether an operation leads back to that one, through operations of one tensor."""
    for _ in range(FAR):
        if node is None or source is None:
            return False
        if node is source:
            return True
        above = [one for one, _ in node.next_functions if one is not None]
        parents = [one for one in above if not one.name().endswith("AccumulateGrad")]
        if len(parents) != 1:
            return False
        node = parents[0]
    return False
