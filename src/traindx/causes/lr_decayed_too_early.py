"""Cause: the learning rate is gone before the work is done."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls normally, then freezes at once and stays, smooth as glass, at a value that is plainly too high. Train
and validation freeze together. The gradient norm remains healthy. The logged learning rate is zero or tiny for most
of the run, or it swings up and down with a period of a few hundred steps.

## Why it happens
The scheduler counts its own `step()` calls and was given numbers in other units:

- `StepLR(step_size=30)` or `CosineAnnealingLR(T_max=epochs)` stepped per *batch*: over within the first epoch, and
  the cosine then climbs back and repeats;
- `ExponentialLR(0.95)` per batch: the rate halves every 14 batches. On the 8×8 digits it stopped an Adam run at loss
  1.46 where the same run without it reached 0.02;
- stepped twice, by the framework and by hand, or once per process in a distributed run;
- `total_steps` computed before the batch size, the GPU count or the accumulation changed;
- ReduceLROnPlateau with a short patience on a noisy value, or with `mode="min"` on an accuracy;
- a resumed run that continues a schedule already at its end.

## How to tell it from its look-alikes
The moment at which the loss freezes is the moment at which the rate falls: one picture of both settles it. traindx
reads the logged rate and reports when it fell below a hundredth of its peak and how much of the run came after. Where
the rate is not logged, update ratios below 1e-6 with an ordinary gradient norm say the same. A planned decay to zero
at the *end* is healthy. `lr-too-low` is slow from the first step. In `model-too-small` the rate is still alive on the
plateau.

## How to fix it
1. `step-scheduler-per-epoch`: call it as often as its numbers assume, or give the numbers in batches.
2. `reduce-on-plateau` with more patience, a floor `min_lr` and the right mode, if that was the scheduler.
3. `resume-from-checkpoint` from before the decay, with the repaired schedule.
4. `train-longer` with a stretched schedule, if the decay was right and the run simply planned too short.

## What NOT to do
- Do not raise the initial rate: it dies after the same number of calls.
- Do not add epochs: steps of length zero add nothing.
- Do not add capacity or change the optimizer because of this floor: it is not the model's.

## References
- PyTorch documentation, *torch.optim: how to adjust learning rate*; *CosineAnnealingLR*, *OneCycleLR*.
- Lightning issue 5631 and PyTorch issue 3814 (scheduler stepped per batch and per epoch).
- Li, Yumer and Ramanan, *Budgeted Training: Rethinking Deep Neural Network Training Under Resource Constraints*, ICLR
  2020.
"""

CAUSE = Cause(
    id="lr-decayed-too-early",
    title="learning rate decayed too early",
    group="learning rate",
    check="plot learning rate and loss together: the loss stops falling where the rate drops",
    prior="occasional",
    predicts={
        "constant-rate": "never",
        "straight-path": "usually",
        "schedule-per-batch": "often",
        "lr-schedule-anomaly": "always",
        "plateau": "usually",
        "tiny-updates": "usually",
        "underfitting": "often",
        "slow-convergence": "sometimes",
        "unchanged-weights": "sometimes",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "still-improving": "rarely",
        "overfitting-gap": "rarely",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "high-initial-loss": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-weight": "never",
        "huge-updates": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "lr-too-low": "slow from the first step; here the beginning is fast and the end is frozen",
        "lr-decay-missing": "the plateau is noisy and the rate constant; here it is smooth and the rate is gone",
        "model-too-small": "the rate is still alive while the loss no longer falls",
        "healthy": "a rate that reaches zero at the planned end of a converged run is right",
    },
    fixes=("step-scheduler-per-epoch", "reduce-on-plateau", "resume-from-checkpoint", "train-longer"),
    line=("scheduler",),
    do_not=(
        "raise the initial rate: the schedule kills it after the same number of calls",
        "add epochs: steps of length zero add nothing",
        "enlarge the model: the floor belongs to the schedule",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the scheduler is stepped per batch: the rate is zero after the first epoch and the loss freezes",
            present=("lr-schedule-anomaly", "plateau"),
            absent=("loss-spike", "divergence", "nonfinite-loss", "oscillation", "overfitting-gap", "still-improving"),
        ),
        Case("healthy", "the rate reaches zero at the end of the plan", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "full rate from step 0: an early spike, then a poor descent",
            present=("lr-schedule-anomaly", "loss-spike", "huge-updates"),
            absent=("plateau", "tiny-updates"),
            expects="warmup-missing",
        ),
        Case("missing", "a plateau, and the rate was not logged", present=("plateau",)),
    ),
)
