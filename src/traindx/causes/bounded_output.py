"""Cause: a sigmoid or tanh output cannot reach the targets."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A regression whose predictions press against a limit: never above 1, never below -1 or 0. The loss falls at first and
then stops. Scatter plots of prediction against target bend into a horizontal line at both ends.

## Why it happens
The output activation has a range and the targets leave it. The part outside can not be learned. For a standard normal
target the best possible squared errors are

| output | range | floor |
|---|---|---|
| tanh | -1 … 1 | 0.15 |
| ReLU | 0 … ∞ | 0.50 |
| sigmoid | 0 … 1 | 0.57 |
| linear | unbounded | 0 |

With raw targets of 50 or 200 000 the limit is everything: the model predicts its maximum for all samples and the loss
stays near the mean squared target.

Pushing towards the limit saturates the unit, and a saturated unit has almost no gradient. That slows even the part of
the targets that lies within reach.

Measured on standardised diabetes targets: loss 0.76 with the bounded output against 0.49 with a linear one.

It comes from copying a classifier, from an image decoder with tanh fed 0…255 pixels, and from an actor network whose
action range is not ±1.

## How to tell it from its look-alikes
`saturated-units` in the last layer, `prediction-collapse` at a limit, calm training. Compare the extremes of
predictions and targets: predictions ending exactly at ±1 or 0 and 1 settle it. Hidden layers that saturate are
`saturation`. With `targets-not-normalized` and a linear head the gradients are huge; here they vanish. `relu-on-output`
has one limit, at zero. A log shows only the floor.

## How to fix it
1. Make the output linear.
2. If the range is real (pixels, actions, probabilities), scale the targets into it, with some margin: 0.05 to 0.95 for
   a
   sigmoid, since the limits themselves need infinite weights.
3. Or scale the output: `low + (high - low) * sigmoid(z)`.

## What NOT to do
- Do not train longer: targets outside the range stay outside.
- Do not raise the learning rate: it drives the unit further into saturation.
- Do not clip the targets to the range to make the loss small: you would be changing the question.

## References
- LeCun et al., *Efficient BackProp*, 1998 (targets within the range of the output sigmoid).
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 6.2.2.1 (linear units for Gaussian outputs).
"""

CAUSE = Cause(
    id="bounded-output",
    title="output range too narrow for the targets",
    group="loss and output",
    check="print the smallest and largest target and prediction: predictions end at ±1, or at 0 and 1, if so",
    prior="rare",
    predicts={
        "targets-beyond-output-range": "always",
        "plateau": "usually",
        "underfitting": "usually",
        "saturated-units": "usually",
        "prediction-collapse": "often",
        "vanishing-gradients": "often",
        "tiny-updates": "sometimes",
        "slow-convergence": "sometimes",
        "loss-at-chance": "sometimes",
        "high-initial-loss": "sometimes",
        "flat-from-start": "sometimes",
        "dead-units": "never",
        "overfitting-gap": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "no-gradient": "never",
        "unchanged-weights": "rarely",
        "batch-not-learned": "sometimes",
        "scaling-cures": "sometimes",
    },
    look_alikes={
        "saturation": "the saturated units are in hidden layers; here only the output presses against its limit",
        "relu-on-output": "one limit at zero, with dead instead of saturated units",
        "targets-not-normalized": "a linear head with large targets has huge gradients; here they vanish",
        "double-sigmoid": "a classification loss with a floor between 0.31 and 0.69",
    },
    fixes=("remove-output-activation", "scale-output-range", "scale-targets"),
    line=("squashed", "last-layer"),
    do_not=(
        "train longer: what lies outside the output range stays outside",
        "raise the learning rate: it drives the output deeper into saturation",
        "clip the targets to the range: the loss gets small because the question was changed",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "tanh head on unscaled targets: predictions stick at 1, loss stopped",
            present=("plateau", "underfitting", "saturated-units", "prediction-collapse"),
            absent=(
                "dead-units",
                "exploding-gradients",
                "nonfinite-loss",
                "divergence",
                "overfitting-gap",
                "no-gradient",
                "loss-spike",
                "slow-convergence",
            ),
            within=4,
        ),
        Case("healthy", "predictions reach the extremes of the targets", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "raw targets with a linear head: a first loss in the tens of thousands and exploding gradients",
            present=("high-initial-loss", "exploding-gradients"),
            absent=("saturated-units", "vanishing-gradients"),
            expects="targets-not-normalized",
        ),
        Case("missing", "only underfitting", present=("underfitting",)),
    ),
    log_visible=False,
    needs="the range of predictions and targets, or the last layer of the model",
)
