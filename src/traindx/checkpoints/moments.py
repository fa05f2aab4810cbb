"""What an optimiser's state says: how large the last update of each parameter was, and how many were made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from traindx.checkpoints.owners import owners
from traindx.checkpoints.parts import Checkpoint, OptimizerState
from traindx.checkpoints.tensor import Tensor, blocks, scalar

MOMENTS = ("exp_avg", "exp_avg_sq", "momentum_buffer")  # as torch's Adam and SGD call them


@dataclass(frozen=True, slots=True)
class Update:
    """The update that the moments of one parameter amount to: the last one, at the current rate. `ratio` is its norm by
    that of the weight, `gradient` the norm of the recent gradients (from the second moment), `lost` the share of
    elements it leaves as they are in the weight's own precision (None where weights or moments are kept in full
    precision)."""

    step: float | None
    ratio: float | None
    gradient: float | None
    nonfinite: bool
    lost: float | None = None


def updates(optimizer: OptimizerState, checkpoint: Checkpoint, tick: Callable[[Tensor], None]) -> dict[str, Update]:
    """The update of each parameter whose name is certain; the others under their number in the optimiser."""
    found: dict[str, Update] = {}
    weights = checkpoint.weights
    for group in optimizer.groups:
        for index, name in owners(optimizer, group, weights, checkpoint.ordered).items():
            state = optimizer.state.get(index)
            if state:
                found[name] = _update(state, group.options, weights.get(name), tick)
    return found


def steps_made(optimizer: OptimizerState) -> float | None:
    """The highest step any parameter's state counts; None where this optimiser counts none."""
    counted = [_step(state) for state in optimizer.state.values()]
    return max((step for step in counted if step is not None), default=None)


def _step(state: Mapping[str, Any]) -> float | None:
    value = state.get("step")
    value = scalar(value) if isinstance(value, Tensor) else value
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _update(
    state: Mapping[str, Any], options: Mapping[str, Any], weight: Tensor | None, tick: Callable[[Tensor], None]
) -> Update:
    first = state.get("exp_avg", state.get("momentum_buffer"))
    second = state.get("exp_avg_sq")
    step = _step(state)
    rate = _option(options, "lr") or _option(options, "initial_lr")  # zero: the schedule is over
    if not isinstance(first, Tensor) or not first.floating:
        return Update(step, None, None, False)
    second = second if isinstance(second, Tensor) and second.shape == first.shape else None
    weight = weight if weight is not None and weight.shape == first.shape and weight.floating else None
    low = weight is not None and weight.dtype == first.dtype == "BF16" and second is not None
    near, far, epsilon = _corrections(options, step) if second is not None else (1.0, 1.0, 0.0)
    moved = held = sizes = 0.0
    touched = still = 0
    with np.errstate(all="ignore"):
        ones = blocks(first)
        twos = blocks(second) if second is not None else None
        kept = blocks(weight) if weight is not None else None
        for one in ones:
            change = one.astype(np.float64) / near
            if twos is not None:
                power = np.maximum(next(twos).astype(np.float64), 0.0) / far
                sizes += float(power.sum())
                change /= np.sqrt(power) + epsilon
            moved += float(np.dot(change, change))
            if kept is not None:
                value = next(kept)
                double = value.astype(np.float64)
                held += float(np.dot(double, double))
                if low and rate:
                    pushed = change != 0
                    touched += int(pushed.sum())
                    still += int((pushed & (_to_bf16(double - rate * change) == value)).sum())
    for tensor in (first, second, weight):
        if tensor is not None:
            tick(tensor)
    ratio = rate * math.sqrt(moved / held) if rate is not None and held > 0 and math.isfinite(moved) else None
    gradient = math.sqrt(sizes) if second is not None and math.isfinite(sizes) else None
    bad = not math.isfinite(moved) or not math.isfinite(sizes)
    return Update(step, ratio, gradient, bad, still / touched if low and touched else None)


def _corrections(options: Mapping[str, Any], step: float | None) -> tuple[float, float, float]:
    """Adam's corrections for the first and second moment having begun at zero, and its epsilon."""
    betas = options.get("betas")
    epsilon = _option(options, "eps") or 0.0
    if not (
        isinstance(betas, tuple | list) and len(betas) == 2 and all(isinstance(b, float) and 0 <= b < 1 for b in betas)
    ):
        return 1.0, 1.0, epsilon
    if not step or step < 1:
        return 1.0, 1.0, epsilon
    return 1 - betas[0] ** step, 1 - betas[1] ** step, epsilon


def _option(options: Mapping[str, Any], name: str) -> float | None:
    value = options.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _to_bf16(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rounded to the nearest bfloat16, ties to even, as torch rounds."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xFFFF0000)).view(np.float32)
