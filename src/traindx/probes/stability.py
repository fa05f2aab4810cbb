"""How large curvature may be before an optimiser's steps grow instead of shrinking.

On a quadratic, a step of size lr along a direction of curvature c overshoots for good from lr × c = 2 on; with momentum
β the limit is 2(1 + β), with Nesterov's 2(1 + β) / (1 + 2β) (Cohen et al. 2021, arXiv:2103.00065, section 2 and
appendix B). For Adam the curvature is that of the loss after each weight was rescaled by its step, and the limit 2(1 +
β1) / (1 - β1), 38 at β1 = 0.9 (Cohen et al. 2022, arXiv:2207.14484)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from traindx.probes.hessian import flat
from traindx.probes.subject import Subject


@dataclass(frozen=True)
class Stability:
    """`scales` holds the square root of the step per unit of gradient, weight by weight; `uniform` is that step where
    it is the same for all. `limit` is what the largest eigenvalue of scales × Hessian × scales must not exceed."""

    scales: torch.Tensor
    uniform: float | None
    limit: float
    rule: str
    estimated: bool  # the optimiser had no statistics yet and got them from the captured batches


def stability_of(subject: Subject, tensors: Sequence[torch.Tensor]) -> Stability | None:
    """For the optimisers whose limit is known."""
    optimizer = subject.optimizer
    if optimizer is None or any(group.get("maximize") for group in optimizer.param_groups):
        return None
    group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    groups = [group_of[id(p)] for p in tensors]
    limits = {_limit(optimizer, group) for group in groups}
    if len(limits) != 1 or None in limits:
        return None
    limit, rule = next(limit for limit in limits if limit is not None)
    rates = [float(group["lr"]) for group in groups]
    if isinstance(optimizer, torch.optim.SGD):
        uniform = rates[0] if len(set(rates)) == 1 else None
        steps = flat([torch.full_like(p, rate) for p, rate in zip(tensors, rates, strict=True)], tensors)
        return Stability(steps.sqrt(), uniform, limit, rule, False)
    known = [_mean_square(optimizer, group, p) for group, p in zip(groups, tensors, strict=True)]
    estimated = all(value is None for value in known)
    if estimated:
        acquainted = _acquainted(subject)
        known = [_mean_square(acquainted, group, p) for group, p in zip(groups, tensors, strict=True)]
    lr = flat([torch.full_like(p, rate) for p, rate in zip(tensors, rates, strict=True)], tensors)
    eps = float(groups[0].get("eps", 0.0))
    # what never had a gradient is never moved
    steps = torch.where(flat(known, tensors) > 0, lr / (flat(known, tensors).sqrt() + eps), torch.zeros_like(lr))
    return Stability(steps.sqrt(), None, limit, rule, estimated)


def _acquainted(subject: Subject) -> torch.optim.Optimizer:
    """An optimiser like the script's that has seen the captured batches at these weights, without a step: its rate is
    zero."""
    fresh = subject.fresh_optimizer(lr=0.0)
    for step in subject.steps:
        subject.update(step, fresh)
    fresh.zero_grad(set_to_none=True)
    return fresh


def _limit(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> tuple[float, str] | None:
    if type(optimizer) is torch.optim.SGD:
        momentum = float(group["momentum"])
        if not momentum:
            return 2.0, "2 for plain SGD"
        if group["nesterov"]:
            limit = 2 * (1 + momentum) / (1 + 2 * momentum)
            return limit, f"2(1 + β) / (1 + 2β) for Nesterov momentum β = {momentum:g}"
        return 2 * (1 + momentum) / (1 - float(group["dampening"])), f"2(1 + β) for momentum β = {momentum:g}"
    if type(optimizer) in (torch.optim.Adam, torch.optim.AdamW):
        beta = float(group["betas"][0])
        return 2 * (1 + beta) / (1 - beta), f"2(1 + β1) / (1 - β1) for Adam with β1 = {beta:g}"
    if type(optimizer) is torch.optim.RMSprop and not group["centered"]:
        momentum = float(group["momentum"])
        return 2 * (1 + momentum), f"2(1 + β) for RMSprop with momentum β = {momentum:g}"
    return None


def _mean_square(optimizer: torch.optim.Optimizer, group: dict[str, Any], tensor: torch.Tensor) -> torch.Tensor | None:
    """The optimiser's running mean of the squared gradient, corrected for its start."""
    state = optimizer.state.get(tensor, {})
    if isinstance(optimizer, torch.optim.RMSprop):
        found: torch.Tensor | None = state.get("square_avg")
        return found
    held = state.get("max_exp_avg_sq") if group.get("amsgrad") else state.get("exp_avg_sq")
    steps = float(state.get("step", 0))
    return None if held is None or not steps else held / (1 - float(group["betas"][1]) ** steps)
