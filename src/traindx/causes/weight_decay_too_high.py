"""Cause: weight decay overrules the data."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Train and validation stop together at a high value, with hardly a gap. In a severe case the outputs shrink to a
constant and the loss returns to chance, sometimes *after* a good beginning. The weight norm, where it is logged,
falls steadily.

## Why it happens
Each AdamW step multiplies the weights by (1 - lr × decay). Without gradients they halve in about 0.7 / (lr × decay)
steps: 70 000 at lr 1e-3 and decay 0.01, but 140 at decay 5. Learning has to win against that pull. Measured on the
8×8 digits (AdamW, lr 1e-3): decay 5 left a train loss of 0.21 where 0.01 reaches 0.02, decay 100 ended at exactly ln
10. The same number means different things elsewhere: in SGD and in plain Adam the decay is added to the *gradient*,
    so 0.1 is already crippling: SGD 0.76, Adam 0.67 on the same data. Deep ReLU networks suffer most: when every
    layer shrinks by 10 %, ten layers shrink the signal by 65 %. With BatchNorm the effect is different: decay then
    mainly raises the effective learning rate (van Laarhoven 2017).

## How to tell it from its look-alikes
Set decay to 0 for a few hundred steps: the train loss must sink at once. Dropout leaves train *above* validation;
decay keeps them equal. A model that is too small has growing weights. A low learning rate is slow from the start,
decay starts fast. The regularisation term may be part of the logged loss: subtract it before judging.

## How to fix it
1. `lower-weight-decay`: 0.01 to 0.1 for AdamW, 1e-4 to 5e-4 for SGD, none on biases and norms.
2. `use-adamw` if Adam's coupled form is in use.
3. `resume-from-checkpoint` when the run was good before the outputs collapsed.

## What NOT to do
- Do not enlarge the model: the pull acts on every new weight as well.
- Do not raise the rate under AdamW: the pull grows with it.
- Do not copy a decay value from one optimizer to another.

## References
- Loshchilov and Hutter, *Decoupled Weight Decay Regularization*, ICLR 2019.
- Krogh and Hertz, *A Simple Weight Decay Can Improve Generalization*, NIPS 1991.
- van Laarhoven, *L2 Regularization versus Batch and Weight Normalization*, 2017.
- Zhang et al., *Three Mechanisms of Weight Decay Regularization*, ICLR 2019.
"""

CAUSE = Cause(
    id="weight-decay-too-high",
    title="weight decay too high",
    group="optimisation",
    check="train 200 steps with weight_decay=0: the loss falls further if so",
    prior="occasional",
    predicts={
        "outcome-poor": "sometimes",
        "strong-weight-decay": "always",
        "weights-decayed-away": "usually",
        "underfitting": "usually",
        "plateau": "usually",
        "prediction-collapse": "often",
        "loss-at-chance": "often",
        "vanishing-gradients": "sometimes",
        "flat-from-start": "sometimes",
        "dead-units": "sometimes",
        "slow-convergence": "sometimes",
        "divergence": "sometimes",
        "huge-updates": "sometimes",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "still-improving": "rarely",
        "high-initial-loss": "rarely",
        "saturated-units": "never",
        "overfitting-gap": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-weight": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-barely-moves": "sometimes",
        "lr-below-useful": "sometimes",
    },
    look_alikes={
        "dropout-too-high": "the train loss lies well above validation; under decay the two are equal",
        "model-too-small": "the weights grow; under decay their norm falls",
        "lr-decayed-too-early": "the logged rate is gone at the moment the loss freezes",
        "vanishing-gradients": "flat from the first step; decay lets the run begin and then pulls it back",
    },
    fixes=("lower-weight-decay", "use-adamw", "resume-from-checkpoint"),
    line=("setting weight_decay",),
    do_not=(
        "enlarge the model: the pull acts on every new weight as well",
        "raise the rate under AdamW: the pull grows with it",
        "copy a decay value from SGD or Adam to AdamW: the same number has another strength",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a beginning, then both curves at a high floor and constant outputs",
            present=("underfitting", "plateau", "prediction-collapse"),
            absent=(
                "overfitting-gap", "flat-from-start", "nonfinite-loss", "lr-schedule-anomaly", "oscillation",
                "divergence",
                "dead-units", "saturated-units", "no-gradient", "unchanged-weights", "huge-updates", "still-improving",
            ),
            within=3,
        ),
        Case("healthy", "weights grow and level off", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train falls to zero, validation rises",
            present=("overfitting-gap",),
            absent=("underfitting", "plateau", "loss-at-chance"),
            expects="overfitting",
        ),
        Case("missing", "both losses high, settings unknown", present=("underfitting",)),
    ),
)  # fmt: skip
