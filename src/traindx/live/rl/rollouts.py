"""Whether the data of an update were used by an update before: reported by the numbers of rewards, returns and
advantages, since tensors are built anew and memory is used again."""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import torch

from traindx.live.rl.frames import Variables

ROLES = ("reward", "return", "advantage")
KEPT = 64  # fingerprints
Use = Literal["fresh", "reused", "unclear"]
Key = tuple[str, int, float, float, float]


class Rollouts:
    def __init__(self) -> None:
        self._seen: OrderedDict[Key, int] = OrderedDict()
        self._step = -2  # of the last look

    def use(self, found: Variables, step: int) -> Use:
        """'fresh': the update before was looked at as well and had other data, or there was none."""
        keys = {key for name, tensor in found.all(*ROLES) if (key := _key(name, tensor)) is not None}
        if not keys:
            return "unclear"
        reused = any(self._seen.get(key, step) < step for key in keys)
        known = step == 0 or self._step == step - 1 or self._step == step
        for key in keys:
            self._seen.setdefault(key, step)
            self._seen.move_to_end(key)
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        self._step = step
        return "reused" if reused else "fresh" if known else "unclear"


def _key(name: str, tensor: torch.Tensor) -> Key | None:
    """None for what does not vary: it tells nothing."""
    flat = tensor.detach().reshape(-1).float()
    if len(flat) < 2:
        return None
    if not flat.is_cpu:
        flat = flat.cpu()
    low, high = float(flat.min()), float(flat.max())
    weights = torch.arange(1, len(flat) + 1, dtype=flat.dtype)
    return (name, len(flat), float(flat @ weights), low, high) if high > low else None
