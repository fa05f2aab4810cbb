"""What the symptoms of a training that goes on from a checkpoint have in common."""

from __future__ import annotations

from statistics import median

from traindx.measurements import Measured, ResumedTraining
from traindx.thresholds import Threshold, fitted

RISE = fitted("jump-at-resume.rise", 1.2, unit="times the loss right after the checkpoint was loaded", strong=1.6)
LOSSES = Threshold(12, "losses after the resume", "fewer have no level before and after the first updates")
FIRST = 2  # losses that the restored weights alone decide
WINDOW = 8  # losses that a level is the median of


def resumed(measured: Measured) -> ResumedTraining | None:
    """A training that surely goes on: a trainer says so, the script saves where it loaded from, or it restored a part
    of what belongs to the weights. A checkpoint that is only a start for another training is none."""
    look = measured.last(ResumedTraining)
    if look is None:
        return None
    parts = look.optimizer_loaded or look.scheduler_loaded or look.rng_loaded
    return look if look.trainer or look.own or parts else None


def rise(look: ResumedTraining) -> float | None:
    """How far the loss rose in the first updates, by what the restored weights gave; None where too few are known."""
    if not LOSSES.reached(len(look.losses)):
        return None
    start = median(look.losses[:FIRST])
    rest = look.losses[FIRST:]
    levels = [median(rest[place : place + WINDOW]) for place in range(0, len(rest) - WINDOW + 1, WINDOW // 2)]
    return max(levels) / start if start > 0 and levels else None


def done(look: ResumedTraining) -> str:
    return f"{look.steps_before} {'epochs' if look.counts == 'epoch' else 'updates'}"


EXAMPLE = ResumedTraining(
    steps_before=2000, counts="step", own=True, offered=("optimizer", "scheduler"), stateful=True,
    optimizer_loaded=True, scheduled=True, scheduler_loaded=True, scheduler_steps=2000, rng_loaded=True, loader=True,
    epoch_batches=1500, skipped=500, repeats_order=True, losses=(1.0,) * 40, where="train.py:20",
)  # fmt: skip
