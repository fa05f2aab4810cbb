"""Healthy trainings, among them those that look sick: one function a kind, changing the Setup in place."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from faults import pad_texts
from setup import Setup, Unfit
from torch.nn import functional as F

Variant = Callable[[Setup, torch.Generator], None]
VARIANTS: dict[str, Variant] = {}


def variant(function: Variant) -> Variant:
    VARIANTS[function.__name__.replace("_", "-")] = function
    return function


@variant
def plain(s: Setup, g: torch.Generator) -> None:
    """As the task is."""


@variant
def noisy_batches(s: Setup, g: torch.Generator) -> None:
    """Small batches at a rate that suits them: the curve scatters and still falls."""
    if s.kind == "ranking":  # too few pairs for each user
        raise Unfit
    s.lr *= 0.25
    s.batch = 4
    s.keep(torch.arange(min(s.count, 600)))
    s.epochs = min(s.epochs, 8)
    s.log_every = 5


@variant
def warm_up(s: Setup, g: torch.Generator) -> None:
    def schedule(optimizer: torch.optim.Optimizer, per_epoch: int, epochs: int) -> tuple[object, str]:
        rise = max(2, per_epoch)
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / rise)), "batch"

    s.schedule = schedule


@variant
def cosine_to_zero(s: Setup, g: torch.Generator) -> None:
    s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.CosineAnnealingLR(o, n * e), "batch")


@variant
def one_cycle(s: Setup, g: torch.Generator) -> None:
    s.schedule = lambda o, n, e: (
        torch.optim.lr_scheduler.OneCycleLR(o, max_lr=s.lr, total_steps=n * e, cycle_momentum=False), "batch",
    )  # fmt: skip


@variant
def step_decay(s: Setup, g: torch.Generator) -> None:
    s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.StepLR(o, max(2, e // 3), 0.2), "epoch")


@variant
def fine_tuning(s: Setup, g: torch.Generator) -> None:
    """Already good at the first step; a small rate on purpose."""
    s.pretrained = max(4, s.epochs // 2)
    s.lr *= 0.2
    s.epochs = max(4, s.epochs // 2)


@variant
def early_stopping(s: Setup, g: torch.Generator) -> None:
    s.patience, s.epochs = 3, s.epochs * 3


@variant
def dropout_gap(s: Setup, g: torch.Generator) -> None:
    """Training is measured with units dropped, validation without: validation lies below."""
    if s.kind in ("ranking", "text", "copy"):
        raise Unfit
    s.shape.dropout = 0.4
    s.shape.width = (
        int(s.shape.width * 1.5)
        if s.kind != "classes" or s.train[0].dim() != 2 or s.train[0].is_floating_point()
        else s.shape.width
    )


@variant
def converged(s: Setup, g: torch.Generator) -> None:
    """Trained well beyond what it needs, with a decay to rest."""
    if s.kind not in ("classes", "copy", "labels"):
        raise Unfit
    s.epochs *= 3
    s.weight_decay = s.weight_decay or 1e-4
    s.schedule = lambda o, n, e: (torch.optim.lr_scheduler.CosineAnnealingLR(o, n * e), "batch")


@variant
def clipped(s: Setup, g: torch.Generator) -> None:
    """Clipping at an ordinary norm."""
    s.clip = 1.0


@variant
def accumulated(s: Setup, g: torch.Generator) -> None:
    s.accumulate, s.batch = 4, max(4, s.batch // 4)


@variant
def maximised(s: Setup, g: torch.Generator) -> None:
    """A log likelihood with a learnt-scale constant: the loss goes below zero and that is right."""
    if s.kind not in ("regression", "copy"):
        raise Unfit
    spread = 0.1
    if s.optimizer in ("sgd", "momentum"):
        s.lr *= 2 * spread  # the gradient is as many times larger

    def likelihood(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(output, target) / (2 * spread) + 0.5 * math.log(2 * math.pi * spread**2)

    s.loss = likelihood


@variant
def masked_padding(s: Setup, g: torch.Generator) -> None:
    if s.kind != "text":
        raise Unfit
    pad_texts(s, 0.5, g)
    s.loss = lambda output, target: F.cross_entropy(output.flatten(0, 1), target.flatten(), ignore_index=0)


@variant
def smoothed_labels(s: Setup, g: torch.Generator) -> None:
    if s.kind != "classes":
        raise Unfit
    s.loss = lambda output, target: F.cross_entropy(output, target, label_smoothing=0.1)


@variant
def short(s: Setup, g: torch.Generator) -> None:
    """Somebody looks after a few steps: nothing is wrong, and little can be said."""
    s.steps, s.log_every = 20 + int(torch.randint(0, 20, (1,), generator=g)), 1


@variant
def long(s: Setup, g: torch.Generator) -> None:
    """Many more steps than usual at a lower rate."""
    if s.task not in ("digits-mlp", "friedman", "digits-copy", "rings"):
        raise Unfit
    s.lr *= 0.3
    s.epochs, s.batch, s.log_every = 60, 16, 20


@variant
def very_long(s: Setup, g: torch.Generator) -> None:
    """Nearly twenty thousand steps, at a rate as much lower."""
    if s.task != "digits-copy":  # others overfit in that time, whatever their rate
        raise Unfit
    s.lr *= 0.08
    s.epochs, s.batch, s.log_every = 250, 16, 50
