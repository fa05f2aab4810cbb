"""Names of models that tell several of one class apart."""

from __future__ import annotations

from collections import Counter

import torch


def numbered(model: torch.nn.Module, met: Counter[str]) -> str:
    """The class of a model that is met for the first time, with a number from the second of its class on."""
    name = type(model).__name__
    met[name] += 1
    return name if met[name] == 1 else f"{name} {met[name]}"
