"""Cause: a training goes on from a checkpoint with its schedule from the start."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
After a resume the learning rate warms up again, or is back at its peak. The loss rises with it and loses what the
decay had gained.

## Why it happens
The scheduler counts its own steps. Built anew it starts at zero, with warm-up and peak, unless its state is loaded or
it is given `last_epoch`. A plan made for the remaining steps only is another schedule than the first one.

## How to tell it from its look-alikes
The logged rate decides. Moments that are lost make a jump at the same rate. Warm restarts that were planned come at
regular distances and were configured.

## How to fix it
1. `restore-optimizer-state`: load the scheduler's state too.
2. Or build it with `last_epoch` and the whole number of steps.

## What NOT to do
- Do not set the rate by hand to what it was: the next step of the scheduler overwrites it.
- Do not skip the scheduler after a resume: the rate stays where it is.
- Do not shorten the plan to the rest of the steps and keep the peak.

## References
- PyTorch documentation, *torch.optim.lr_scheduler* (`last_epoch`, `state_dict`).
- Hugging Face Accelerate documentation, *Checkpointing* (`register_for_checkpointing`).
"""

CAUSE = Cause(
    id="schedule-restarted",
    title="learning-rate schedule starts again at a resume",
    group="going on",
    check="plot the learning rate over the resume: it must go on where it was",
    prior="rare",
    predicts={
        "schedule-not-restored": "always",
        "jump-at-resume": "often",
        "lr-schedule-anomaly": "often",
        "loss-spike": "sometimes",
        "slow-convergence": "sometimes",
        "divergence": "sometimes",
        "plateau": "sometimes",
        "optimizer-not-restored": "rarely",
        "huge-updates": "sometimes",
        "nonfinite-loss": "rarely",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "loss-at-chance": "rarely",
        "flat-from-start": "rarely",
        "no-gradient": "never",
    },
    look_alikes={
        "optimizer-state-lost": "the rate goes on and the moments are gone",
        "lr-decayed-too-early": "the rate falls too early; here it comes back",
    },
    fixes=("restore-optimizer-state",),
    do_not=(
        "set the rate by hand to what it was: the next step of the scheduler overwrites it",
        "skip the scheduler after a resume: the rate stays where it is",
        "shorten the plan to the rest of the steps and keep the peak",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the scheduler counts from zero after 2000 updates",
            present=(
                "schedule-not-restored",
                "jump-at-resume",
                "lr-schedule-anomaly",
            ),
            absent=(
                "optimizer-not-restored",
                "nonfinite-loss",
            ),
        ),
        Case(
            "healthy",
            "the schedule goes on",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "schedule-not-restored",
                "jump-at-resume",
            ),
        ),
        Case(
            "look-alike",
            "weights restored, moments not",
            present=(
                "optimizer-not-restored",
                "jump-at-resume",
            ),
            absent=("schedule-not-restored",),
            expects="optimizer-state-lost",
        ),
        Case("missing", "a jump at a resume", present=("jump-at-resume",), absent=()),
    ),
    log_visible=True,
    needs="what was restored with the weights (a live recording), or the logged rate across the resume",
)
