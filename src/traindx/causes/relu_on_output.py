"""Cause: a ReLU after the last layer cuts off what may be predicted."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A regression that never predicts below zero, with a floor in the loss and a heap of predictions at exactly 0. Or a
classifier whose logits are all non-negative and whose progress is slow. In the worst case every output is 0 from some
step on and the loss is constant.

## Why it happens
ReLU removes negative outputs. Half of a standardised target is negative, so that half can at best be answered with 0.
For a standard normal target the floor is E[min(y, 0)²] = 0.50, the variance being 1.

Worse, an output unit below zero has a zero gradient. A bad step or an unlucky bias switches it off for all samples, and
the whole network stops learning: a dead ReLU in the one place that has no neighbours to take over.

In a classifier the softmax only compares scores, so a ReLU is not fatal; yet a class whose logit is clamped at 0 for a
sample receives no push upwards there.

Measured on the scikit-learn diabetes data, standardised target: train loss 0.67 with the ReLU, 0.49 without. A block
factory that always appends its activation (`Linear, BN, ReLU`), used for the head as well, is the usual source.

## How to tell it from its look-alikes
Look at the smallest prediction. Exactly 0, often, is this cause; traindx shows it as `dead-units` in the last layer
with
`prediction-collapse`. `bounded-output` (sigmoid, tanh) has limits on both sides and saturates instead of dying. Dead
units in
*hidden* layers are `dead-relu`. A model that is too small misses on both sides of zero. From a log alone only an early,
calm plateau below the target variance is visible.

## How to fix it
1. Remove the activation behind the last linear layer.
2. If predictions must be positive, use `softplus`, or predict the logarithm and exponentiate: both keep a gradient.
3. Keep standardised targets; a ReLU on raw positive targets also clips half of the *errors* at the start.

## What NOT to do
- Do not shift the targets to be positive and keep the ReLU: the unit can still die.
- Do not swap in LeakyReLU on the output: negative predictions are then squeezed to a hundredth.
- Do not lower the learning rate: it delays the death of the unit and leaves the floor.

## References
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 6.2.2 (output units).
- Lu et al., *Dying ReLU and Initialization: Theory and Numerical Examples*, 2020.
- Dugas et al., *Incorporating Second-Order Functional Knowledge for Better Option Pricing*, NeurIPS 2000 (softplus).
"""

CAUSE = Cause(
    id="relu-on-output",
    title="ReLU on the output layer",
    group="loss and output",
    check="print the smallest prediction and the smallest target: exactly 0 beside a negative one if so",
    prior="rare",
    predicts={
        "relu-cuts-output": "always",
        "plateau": "usually",
        "underfitting": "usually",
        "dead-units": "usually",
        "prediction-collapse": "often",
        "loss-at-chance": "sometimes",
        "flat-from-start": "sometimes",
        "vanishing-gradients": "sometimes",
        "unchanged-weights": "sometimes",
        "tiny-updates": "sometimes",
        "slow-convergence": "sometimes",
        "saturated-units": "never",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "exploding-gradients": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "no-gradient": "never",
        "batch-not-learned": "sometimes",
        "scaling-cures": "sometimes",
    },
    look_alikes={
        "bounded-output": "predictions pile up at two limits and units saturate; a ReLU cuts only below zero",
        "dead-relu": "the dead units are in hidden layers; here it is the output unit",
        "model-too-small": "errors lie on both sides of zero, not only where the target is negative",
        "loss-shape-broadcast": "every prediction is the mean of the targets, not zero",
    },
    fixes=("remove-output-activation", "scale-output-range"),
    line=("relu",),
    do_not=(
        "shift the targets to be positive and keep the ReLU: the output unit can still die for all samples",
        "put LeakyReLU there: negative predictions are squeezed to a hundredth of their size",
        "lower the learning rate: it delays the death of the unit and leaves the floor where it is",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "standardised targets, loss floor 0.67, output exactly zero for half of the samples",
            present=("plateau", "underfitting", "dead-units", "prediction-collapse"),
            absent=(
                "saturated-units",
                "nonfinite-loss",
                "divergence",
                "exploding-gradients",
                "overfitting-gap",
                "high-initial-loss",
                "no-gradient",
            ),
            within=3,
        ),
        Case("healthy", "predictions cover both signs and the loss falls", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "outputs stick at plus and minus one",
            present=("plateau", "underfitting", "saturated-units"),
            absent=("dead-units",),
            expects="bounded-output",
        ),
        Case("missing", "only a plateau", present=("plateau",)),
    ),
    log_visible=False,
    needs="the range of the predictions, or the last layer of the model",
)
