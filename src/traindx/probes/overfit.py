"""Training on a single batch: the shortest way to see whether model, loss and optimiser can learn anything at all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from traindx.live.measures.tensors import columns
from traindx.probes.base import Deadline
from traindx.probes.subject import Step, Subject, Swap

STEPS = 300
LEARNED = 0.1  # of the reference left: the batch is as good as known by heart
DIVERGED = 3.0  # times the first loss
RAMP = 30  # updates over which the learning rate rises, where the script warms up
FAR = 10.0  # means and spreads beyond it are not scaled
LATE = 0.2  # of the trial


@dataclass
class Trial:
    """The losses of one training on one batch. `reference` is what a constant answer would reach, or the first loss."""

    name: str
    reference: float
    losses: list[float] = field(default_factory=list)
    broke: bool = False  # NaN or Inf

    @property
    def steps(self) -> int:
        return len(self.losses)

    @property
    def late(self) -> float:
        """The lowest of the last losses."""
        tail = [loss for loss in self.losses[-max(1, round(self.steps * LATE)) :] if math.isfinite(loss)]
        return min(tail, default=math.inf)

    @property
    def left(self) -> float:
        """How much of the reference is left; negative losses have none to compare with."""
        return self.late / self.reference if self.reference > 0 else math.nan

    @property
    def best(self) -> float:
        finite = [loss for loss in self.losses if math.isfinite(loss)]
        return min(finite, default=math.inf) / self.reference if self.reference > 0 else math.nan

    @property
    def learned(self) -> bool:
        return self.best <= LEARNED

    @property
    def diverged(self) -> bool:
        return self.broke or (self.steps > 10 and self.late > DIVERGED * max(self.losses[0], self.reference) > 0)


def train(
    subject: Subject, step: Step, optimizer: torch.optim.Optimizer, name: str, reference: float, deadline: Deadline,
    *, ramp: bool = False, swap: Swap | None = None, targets: Swap | None = None, most: int = STEPS,
) -> Trial:  # fmt: skip
    """Train on one batch until it is learned, breaks, or time is up. Dropout is off: it would only blur the answer."""
    trial = Trial(name, reference)
    goals = [group["lr"] for group in optimizer.param_groups]
    with without_dropout(subject):
        for number in range(most):
            if ramp:
                for group, goal in zip(optimizer.param_groups, goals, strict=True):
                    group["lr"] = goal * min(1.0, (number + 1) / RAMP)
            loss = float(subject.update(step, optimizer, swap=swap, targets=targets))
            trial.losses.append(loss)
            if not math.isfinite(loss):
                trial.broke = True
                break
            if deadline.passed or trial.best <= LEARNED / 10:
                break
    return trial


def with_full_rate(subject: Subject) -> tuple[torch.optim.Optimizer, bool]:
    """A fresh optimiser like the user's at the learning rate the schedule is heading for, and whether it has to warm
    up."""
    assert subject.optimizer is not None
    fresh = subject.fresh_optimizer()
    warms = False
    for group in fresh.param_groups:
        now = float(group.get("lr", 0.0))
        goal = max(now, *(float(group.get(key, 0.0) or 0.0) for key in ("max_lr", "initial_lr")))
        warms = warms or now < 0.5 * goal
        if goal > now:
            group["lr"] = goal
    return fresh, warms


@contextmanager
def without_dropout(subject: Subject) -> Iterator[None]:
    held: list[tuple[torch.nn.Module, str, object]] = []
    for module in subject.layers().values():
        if isinstance(module, torch.nn.modules.dropout._DropoutNd):
            held.append((module, "training", module.training))
            module.training = False
        elif isinstance(module, torch.nn.MultiheadAttention | torch.nn.RNNBase) and module.dropout:
            held.append((module, "dropout", module.dropout))
            module.dropout = 0.0
    try:
        yield
    finally:
        for module, name, value in held:
            setattr(module, name, value)


def unscaled(tensors: tuple[torch.Tensor, ...]) -> bool:
    """Data far away from zero or far wider than one."""
    return any(t.is_floating_point() and t.numel() > 1 and bool(t.isfinite().all()) and _far(t) for t in tensors)


def _far(tensor: torch.Tensor) -> bool:
    values = columns(tensor.double())
    return bool((values.mean(0).abs() > FAR).any()) or bool((values.std(0, unbiased=False) > FAR).any())


def standardised(tensor: torch.Tensor) -> torch.Tensor:
    """Every feature with mean 0 and spread 1; whole numbers stay what they are."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return tensor
    values = columns(tensor)
    middle, spread = values.mean(0), values.std(0, unbiased=False)
    spread = torch.where(spread > 0, spread, torch.ones_like(spread))
    images = tensor.dim() in (4, 5)
    moved = tensor.movedim(1, -1) if images else tensor.reshape(-1, 1) if tensor.dim() <= 1 else tensor
    scaled = (moved - middle) / spread
    return scaled.movedim(-1, 1) if images else scaled.reshape(tensor.shape)


def reference_of(subject: Subject, step: Step, first: float) -> float:
    """The loss of the best constant answer, where the loss function is known; never more than the first loss."""
    chance = chance_level(subject, step)
    return first if chance is None or not math.isfinite(chance) or chance <= 0 else min(first, chance)


def chance_level(subject: Subject, step: Step) -> float | None:
    """What an answer that does not look at the input reaches at best: the entropy of the labels, the spread of the
    targets."""
    if len(step.parts) != 1 or len(step.targets) != 1:
        return None
    target = step.targets[0].detach()
    if subject.loss_name in ("cross_entropy", "nll_loss") and not target.is_floating_point():
        counts = target[target >= 0].reshape(-1).bincount().double()
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * shares.log()).sum())
    if target.is_floating_point() and target.numel() > 1:
        if subject.loss_name == "mse_loss":
            return float(target.double().var(unbiased=False))
        if subject.loss_name == "l1_loss":
            return float((target.double() - target.double().median()).abs().mean())
        if subject.loss_name in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
            share = min(max(float(target.double().mean()), 1e-9), 1 - 1e-9)
            return -(share * math.log(share) + (1 - share) * math.log(1 - share))
    return None
