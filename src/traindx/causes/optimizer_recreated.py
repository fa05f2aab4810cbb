"""Cause: the optimizer starts anew during the run."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A small jump of the loss at regular places: every epoch, every validation, or once at the resume step. In between it
learns, more slowly than it should. The logged learning rate stays at its initial value although a scheduler exists,
or falls back to it.

## Why it happens
The optimizer holds more than settings: momentum, Adam's two moments and its step counter. Building it inside
`train_one_epoch`, or loading only the model's weights on resume, throws that away. A fresh Adam moves every
coordinate by the full lr in its first step, because the moment estimates of one gradient cancel to its sign. SGD
loses its momentum: on the 8×8 digits a new optimizer per step left a train loss of 0.055 after 20 epochs, one
optimizer 0.0004; per epoch the damage was small (0.0015), and Adam hardly noticed. So this fault more often costs
speed than the run. The scheduler is bound to the old object and steers nothing any more: the live rate never decays.
The same happens when a model is moved, wrapped or gets a new head after the optimizer was built.

## How to tell it from its look-alikes
Clockwork decides: jumps at equal distances, at the very steps where the script's outer loop turns. A planned warm
restart looks the same in the rate but was configured. Sorted or unshuffled data also has the period of an epoch, but
its loss drifts *within* the epoch instead of jumping at its start. Missing warm-up happens once, at step 0. In a
checkpoint, Adam's `step` far below the run's step count is proof.

## How to fix it
1. `keep-one-optimizer`: construct it once, before the loop.
2. `restore-optimizer-state` when the jumps lie at resume points.
3. `add-warmup` over a few hundred steps after a resume whose state is lost.

## What NOT to do
- Do not tune the rate against the jumps: they belong to the code.
- Do not switch to SGD because it "has no state": with momentum it has.
- Do not rebuild the optimizer to change the rate: set `group["lr"]`.

## References
- PyTorch documentation, *Saving and loading a general checkpoint*; *torch.optim.Optimizer.state_dict*.
- NVIDIA apex issues 180 and 480, virtex issue 18 (loss jumps after resume).
- Kingma and Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015.
"""

CAUSE = Cause(
    id="optimizer-recreated",
    title="optimizer state lost during the run",
    group="optimisation",
    check="search for the line that builds the optimizer: it must stand outside of the epoch loop",
    prior="occasional",
    predicts={
        "spike-at-rate-change": "sometimes",
        "optimizer-rebuilt": "usually",
        "loss-spike": "often",
        "slow-convergence": "often",
        "lr-schedule-anomaly": "often",
        "plateau": "sometimes",
        "oscillation": "sometimes",
        "still-improving": "sometimes",
        "huge-updates": "sometimes",
        "val-spike": "sometimes",
        "val-noisy": "sometimes",
        "underfitting": "sometimes",
        "overfitting-gap": "rarely",
        "loss-at-chance": "never",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "nonfinite-loss": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "warmup-missing": "rough once, at step 0; here again at every epoch or resume",
        "not-shuffled": "the loss drifts within the epoch instead of jumping at its start",
        "corrupt-samples": "the jumps follow samples, not the epoch counter, once the order is shuffled",
        "lr-decay-missing": "no jumps at all, just a constant rate and a noisy floor",
    },
    fixes=("keep-one-optimizer", "restore-optimizer-state", "add-warmup"),
    line=("rebuilt",),
    do_not=(
        "tune the rate against the jumps: they belong to the code",
        "rebuild the optimizer to change the rate: set group['lr'] instead",
        "resume from the weights alone: moments, scheduler and scaler belong to the state",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a jump at every epoch start, the logged rate restarts, progress is slow",
            present=("loss-spike", "lr-schedule-anomaly", "slow-convergence"),
            absent=(
                "huge-updates",
                "exploding-gradients",
                "divergence",
                "tiny-updates",
                "nonfinite-loss",
                "flat-from-start",
            ),
            within=4,
        ),
        Case("healthy", "the loss joins its old curve after a resume", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "isolated spikes led by the gradient norm, schedule in order",
            present=("loss-spike", "exploding-gradients"),
            absent=("lr-schedule-anomaly", "slow-convergence"),
            expects="grad-clip-missing",
        ),
        Case("missing", "one jump in a log without learning rates", present=("loss-spike",)),
    ),
)
