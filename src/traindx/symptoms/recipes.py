"""Synthetic curves for the cases: deterministic, shaped like the real thing, noise included."""

from __future__ import annotations

import numpy as np

from traindx.run import Floats


def falling(count: int, start: float, end: float, noise: float = 0.03, seed: int = 0, pace: float = 5.0) -> Floats:
    """An ordinary loss: exponential descent from start to end with relative noise."""
    time = np.linspace(0, 1, count)
    shape = (np.exp(-pace * time) - np.exp(-pace)) / (1 - np.exp(-pace))
    level: Floats = end + (start - end) * shape
    return level * (1 + noise * np.random.default_rng(seed).standard_normal(count))


def flat(count: int, level: float, noise: float = 0.01, seed: int = 0) -> Floats:
    return level * (1 + noise * np.random.default_rng(seed).standard_normal(count))


def then(*pieces: Floats) -> Floats:
    """One piece after the other."""
    return np.concatenate(pieces)


def ramp(count: int, start: float, end: float, noise: float = 0.0, seed: int = 0) -> Floats:
    """A straight line."""
    return np.linspace(start, end, count) * (1 + noise * np.random.default_rng(seed).standard_normal(count))


def swinging(count: int, low: float, high: float, periods: float, noise: float = 0.02, seed: int = 0) -> Floats:
    """A wave between two levels."""
    wave = (low + high) / 2 + (high - low) / 2 * np.sin(np.linspace(0, 2 * np.pi * periods, count))
    return wave * (1 + noise * np.random.default_rng(seed).standard_normal(count))


def put(values: Floats, place: int, *new: float) -> Floats:
    """The same curve with some values replaced."""
    changed = values.copy()
    changed[place : place + len(new)] = new
    return changed


def cosine(count: int, peak: float, warmup: int = 0, floor: float = 0.0) -> Floats:
    """A learning rate: linear warm-up, then cosine decay."""
    steps = np.arange(count)
    decay = floor + (peak - floor) * 0.5 * (1 + np.cos(np.pi * (steps - warmup) / max(1, count - 1 - warmup)))
    return np.where(steps < warmup, peak * (steps + 1) / max(1, warmup), decay)
