"""The random numbers of an arm: the same in both arms of a pair, others in the next pair."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

import torch

STRIDE = 7919  # between the seeds of two pairs, for scripts that set their own: a prime, so that seeds hardly ever meet


def settle(number: int) -> None:
    """Seed everything a script may draw from, and shift the seeds it sets itself."""
    _seed(number)
    if number:
        shift = number * STRIDE
        for owner, name in (
            (torch, "manual_seed"),
            (torch.random, "manual_seed"),
            (torch.cuda, "manual_seed_all"),
            (random, "seed"),
        ):
            _shift(owner, name, shift)
        numpy = sys.modules.get("numpy") or _numpy()
        if numpy is not None:
            for name in ("seed", "default_rng", "RandomState"):
                _shift(numpy.random, name, shift)


def _numpy() -> Any:
    try:
        return importlib.import_module("numpy")
    except ImportError:
        return None


def _seed(number: int) -> None:
    random.seed(number)
    torch.manual_seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number)


def _shift(owner: Any, name: str, shift: int) -> None:
    original: Callable[..., Any] = getattr(owner, name)
    if isinstance(original, type):
        return  # a class may be subclassed or compared with: left as it is

    def seeded(seed: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original((seed + shift) % 2**32 if isinstance(seed, int) else seed, *args, **kwargs)

    setattr(owner, name, seeded)
