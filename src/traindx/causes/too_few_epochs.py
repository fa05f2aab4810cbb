"""Cause: the run ends before the learning does."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A healthy descent that is cut off. Train and validation fall together until the last value, and the slope at the end
is well above the noise. Nothing else is wrong: gradients, updates and schedule are in range.

## Why it happens
The number of *updates* is too small: epochs × samples / batch. Two epochs of five batches are ten updates, however
large each batch is. From-scratch training rarely gets anywhere in under a thousand updates, and fine-tuning seldom in
under a hundred. Other reasons: a debug setting left in, a time limit on the cluster, early stopping with too little
patience on a noisy value, or a schedule planned for more steps than were run, so that the rate never came down.

## How to tell it from its look-alikes
traindx tests the trend of the last fifth of the run against its noise. Still falling: this cause may apply. Flat: it
does not, whatever the loss is. A loss that never moved is not undertrained, it is *not learning*, and more epochs of
that change nothing. In `lr-too-low` the slope is small from the start and the updates are tiny; here both are
ordinary. A log that ends in the middle of an epoch, or with a traceback, was `truncated`: the plan may have been
right. A rate that has reached zero ends the learning by design; extend the schedule, not only the epochs.

## How to fix it
1. `train-longer`, with the schedule stretched to the new length.
2. `decrease-batch` if the epochs are many and the updates few.
3. `raise-lr` if the update ratio is below 1e-3: the same place is reached sooner.
4. `use-pretrained` when the budget is fixed and the data small.

## What NOT to do
- Do not answer a flat loss with more epochs.
- Do not continue with a rate that has decayed to zero: nothing will move.
- Do not judge a model, or compare two, on curves that are still falling: their order often changes.
- Do not stop at the first rise of validation when double descent is likely: it may fall again.

## References
- Prechelt, *Early Stopping: But When?*, 1998.
- Hoffer, Hubara and Soudry, *Train Longer, Generalize Better*, NeurIPS 2017.
- Nakkiran et al., *Deep Double Descent: Where Bigger Models and More Data Hurt*, ICLR 2020.
- Li, Yumer and Ramanan, *Budgeted Training*, ICLR 2020.
"""

CAUSE = Cause(
    id="too-few-epochs",
    title="training stopped too early",
    group="optimisation",
    check="train three times as long: the loss goes on falling if so",
    prior="common",
    predicts={
        "straight-path": "usually",
        "huge-batches": "never",
        "few-updates": "always",
        "still-improving": "always",
        "underfitting": "often",
        "slow-convergence": "sometimes",
        "too-short": "sometimes",
        "truncated": "sometimes",
        "run-died": "never",
        "tiny-updates": "never",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "loss-at-chance": "sometimes",
        "high-initial-loss": "rarely",
        "vanishing-gradients": "never",
        "dead-units": "never",
        "prediction-collapse": "never",
        "huge-updates": "never",
        "plateau": "rarely",
        "flat-from-start": "never",
        "overfitting-gap": "never",
        "val-left-behind": "never",
        "divergence": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-weight": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-not-learned": "never",
        "batch-diverges": "never",
        "lr-above-stable": "never",
        "batch-barely-moves": "rarely",
        "lr-below-useful": "rarely",
    },
    look_alikes={
        "lr-too-low": "the slope is small from the first step and the updates are tiny",
        "batch-too-large": "many epochs, but few updates in each",
        "model-too-small": "the curve is flat at the end; more time would bring nothing",
        "healthy": "a long run may end with a slight slope; what it still gains is small against what it gained",
    },
    fixes=("train-longer", "decrease-batch", "raise-lr", "use-pretrained"),
    line=("setting epochs", "outer-loop"),
    do_not=(
        "answer a flat loss with more epochs: a model that does not learn is not short of training",
        "continue with a rate that has decayed to zero: nothing will move",
        "compare models on curves that are still falling: their order often changes",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "steep until the last value, both losses high, everything else in range",
            present=("still-improving", "underfitting"),
            absent=(
                "tiny-updates",
                "plateau",
                "flat-from-start",
                "slow-convergence",
                "oscillation",
                "overfitting-gap",
                "divergence",
            ),
            within=2,
        ),
        Case("healthy", "flat and low at the end", absent=(*CALM_CURVES, *CALM_INSIDE, "still-improving")),
        Case(
            "look-alike",
            "still falling, but slowly from the first step and with tiny updates",
            present=("still-improving", "slow-convergence", "tiny-updates"),
            absent=("too-short", "truncated"),
            expects="lr-too-low",
        ),
        Case("missing", "twelve values and no more", present=("too-short",)),
    ),
)
