"""Measures what a loss function is given: shapes, what made the output, what its rows sum to, and what the targets are.

What made the output is read off the autograd graph; where the graph cannot be seen (a compiled model), its numbers are
counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.measures.nodes import Ending
from traindx.live.measures.rows import measure, near
from traindx.loss_functions import BINARY_LOGITS, OVER_CLASSES
from traindx.loss_functions import REGRESSION as REGRESSION
from traindx.measurements import LossCall, RegressionTargets

# The range of what an activation puts out; None has no limit.
RANGES: dict[str, tuple[float | None, float | None]] = {
    "Sigmoid": (0.0, 1.0),
    "Hardsigmoid": (0.0, 1.0),
    "Softmax": (0.0, 1.0),
    "Tanh": (-1.0, 1.0),
    "Relu": (0.0, None),
    "Softplus": (0.0, None),
    "Exp": (0.0, None),
    "Elu": (-1.0, None),
    "Gelu": (-0.17, None),
    "Silu": (-0.28, None),
}
SLACK = 0.02  # beyond the range, for rounding and label smoothing
MAX_ROWS = 4096  # targets of a call that are looked at for class codes
MAX_CODE = 20  # the largest whole number that is counted
MIN_CODED = 8  # targets in a call: a toy such as the four rows of XOR says nothing
MIN_ONE_HOT = 4  # rows in a call
MAX_CODED = 50  # codes counted off the steps that are looked at closely


@dataclass
class Site:
    """One place in the user's code that calls a loss function, and what was counted there so far."""

    looks: int = 0
    unit_calls: int = 0  # in a row whose inputs all lay in [0, 1]
    unit_numbers: int = 0
    targets: int = 0
    below: int = 0  # targets under the range of the output, and above it
    above: int = 0
    lowest: float = float("inf")
    highest: float = float("-inf")
    codes: list[int] = field(default_factory=lambda: [0] * (MAX_CODE + 1))
    most_codes: int = 0
    uncoded: int = 0
    open: bool = False  # the latest targets were codes, and few were counted so far


def loss_call(call: Criterion, end: Ending, site: Site) -> LossCall:
    """All that one training call shows. `end` is what made its input."""
    more: dict[str, Any] = {}
    if call.name in OVER_CLASSES:
        more = _class_rows(call)
    elif call.name == BINARY_LOGITS and end.opaque:
        low, high = torch.stack(call.input.detach().aminmax()).tolist()
        site.unit_calls = site.unit_calls + 1 if low >= 0 and high <= 1 else 0
        site.unit_numbers = site.unit_numbers + call.input.numel() if site.unit_calls else 0
        more = {"unit_calls": site.unit_calls, "unit_numbers": site.unit_numbers}
    return LossCall(
        loss=call.name,
        input_shape=tuple(call.input.shape),
        target_shape=tuple(call.target.shape),
        input_type=str(call.input.dtype).removeprefix("torch."),
        target_whole=not call.target.is_floating_point(),
        made_by=end.kind,
        made_shape=end.shape,
        made_dim=end.dim,
        made_uncut=end.whole,
        where=call.where,
        **more,
    )


def _class_rows(call: Criterion) -> dict[str, Any]:
    dimensions = call.input.dim()
    dim = 1 if call.name != "kl_div" and dimensions > 1 else -1
    if not dimensions or call.input.shape[dim] <= 1:
        return {}
    rows = measure(call.input, dim)
    return {
        "rows": rows.count,
        "classes": rows.classes,
        "probability_rows": rows.probabilities,
        "log_probability_rows": rows.log_probabilities,
        "log_sum": rows.log_sum,
    }


def regression_targets(call: Criterion, end: Ending, site: Site) -> RegressionTargets:
    """The targets of a call on a step that is looked at closely, with those before."""
    low, high = RANGES.get(end.kind, (None, None))
    if low is not None or high is not None:
        _count_outside(call.target, low, high, site)
    return class_codes(call, end, site)


def _count_outside(target: torch.Tensor, low: float | None, high: float | None, site: Site) -> None:
    target = near(target).float()
    none = target.new_zeros(())
    below = (target < low - SLACK).sum() if low is not None else none
    above = (target > high + SLACK).sum() if high is not None else none
    under, over, least, most = torch.stack([one.double() for one in (below, above, *target.aminmax())]).tolist()
    site.targets += target.numel()
    site.below += int(under)
    site.above += int(over)
    site.lowest, site.highest = min(site.lowest, least), max(site.highest, most)


def class_codes(call: Criterion, end: Ending, site: Site) -> RegressionTargets:
    """The same without the range: whether the targets are one-hot rows or class numbers."""
    one_hot, hot_classes = _one_hot(call)
    if one_hot is None:
        _count_codes(call, site)
    low, high = RANGES.get(end.kind, (None, None))
    return RegressionTargets(
        loss=call.name,
        made_by=end.kind,
        low=low,
        high=high,
        looks=site.looks,
        targets=site.targets,
        below=site.below,
        above=site.above,
        lowest=site.lowest if site.targets else 0.0,
        highest=site.highest if site.targets else 0.0,
        one_hot=one_hot,
        hot_classes=hot_classes,
        codes=tuple(site.codes[: max((code + 1 for code, count in enumerate(site.codes) if count), default=0)]),
        most_codes=site.most_codes,
        uncoded=site.uncoded,
        where=call.where,
    )


def _one_hot(call: Criterion) -> tuple[float | None, int]:
    """The share of one-hot rows in the targets and how many of their columns vary; None where targets are no rows."""
    target = call.target.detach()
    if target.dim() != 2 or target.shape != call.input.shape or target.shape[1] <= 1 or len(target) < MIN_ONE_HOT:
        return None, 0
    target = target[:MAX_ROWS].cpu()
    hot = ((target == 0) | (target == 1)).all(1) & (target.sum(1) == 1)
    share, varying = torch.stack([hot.double().mean(), (target.amax(0) > target.amin(0)).sum().double()]).tolist()
    return share, int(varying)


def _count_codes(call: Criterion, site: Site) -> None:
    target = call.target.detach()
    single = target.dim() > 0 and target.numel() == target.shape[0] == call.input.numel()
    if not single or target.numel() < MIN_CODED:
        return
    target = target.reshape(-1)[:MAX_ROWS].cpu()
    found: list[int] = (target.unsqueeze(1) == torch.arange(MAX_CODE + 1)).sum(0).tolist()
    if sum(found) < target.numel():
        site.open = False
        site.uncoded += 1
        return
    site.codes = [old + new for old, new in zip(site.codes, found, strict=True)]
    site.open = sum(site.codes) < MAX_CODED
    site.most_codes = max(site.most_codes, sum(count > 0 for count in found))
