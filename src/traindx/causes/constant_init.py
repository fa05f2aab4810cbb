"""Cause: all weights of a layer start equal."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss sits on chance to four digits (2.3026 for ten classes, 0.6931 for two) from the first step, and all outputs
are equal. With a constant other than zero it falls a little and stops far too high: 0.05 in every weight reached 1.85
and 19 % accuracy on the 8×8 digits in 20 epochs, where random weights reach 0.02 and 97 %.

## Why it happens
Units with equal weights compute the same value and receive the same gradient, so they stay equal for ever: a layer of
128 units works like one. If the weights are all zero, hidden activations are zero, every weight gradient behind them
is zero, and only the output bias learns the class frequencies. Where it comes from: `torch.zeros` or `torch.ones`
parameters, `nn.init.constant_` applied to weights instead of biases, a hand-written layer on `torch.empty` filled
with one number, or a checkpoint of zeros loaded by mistake. Dropout breaks the symmetry a little and thereby hides
the fault.

## How to tell it from its look-alikes
Look at the weights: the standard deviation within a layer is zero, or rows are identical. No other cause gives the
*same* value of the loss to the last digit at every step with a live gradient in the output bias alone. Initialisation
that is merely too small has random, tiny weights, and the loss falls after a delay. Dead ReLUs differ from each other
although they are all off. Zero is right in some places and must not be reported there: biases, the last layer of a
residual block, `lora_B`.

## How to fix it
1. `default-init`: random weights scaled by fan-in; PyTorch does that by itself for its own layers.

## What NOT to do
- Do not raise the rate or train longer: equal units take equal steps.
- Do not add width: more copies of one unit are still one unit.
- Do not add noise to the inputs in the hope of breaking the symmetry: all units see the same noise.

## References
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 8.4 (breaking symmetry between units).
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
- PyTorch documentation, *torch.nn.init*.
"""

CAUSE = Cause(
    id="constant-init",
    title="weights initialised to a constant",
    group="initialisation",
    check="print p.std() of each weight before training: zero, or equal rows, if so",
    prior="rare",
    predicts={
        "equal-initial-weights": "always",
        "initial-weights-large": "never",
        "flat-from-start": "usually",
        "loss-at-chance": "usually",
        "prediction-collapse": "usually",
        "vanishing-gradients": "usually",
        "underfitting": "usually",
        "unchanged-weights": "often",
        "dead-units": "often",
        "plateau": "sometimes",
        "tiny-updates": "often",
        "no-gradient": "sometimes",
        "val-at-chance": "sometimes",
        "slow-convergence": "sometimes",
        "still-improving": "rarely",
        "high-initial-loss": "rarely",
        "oscillation": "rarely",
        "overfitting-gap": "never",
        "loss-spike": "rarely",
        "divergence": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "sometimes",
        "batch-not-learned": "often",
    },
    look_alikes={
        "init-too-small": "weights are tiny but random, and the loss falls after a delay",
        "dead-relu": "the units' weights differ from each other; they are only off",
        "detached-graph": "gradients are None; here the output bias has one and learns the class frequencies",
        "softmax-on-single-output": "the loss is constant as well, but the hidden weights are random",
    },
    fixes=("default-init",),
    line=("constant-weights",),
    do_not=(
        "raise the rate or train longer: equal units take equal steps",
        "add width: more copies of one unit are still one unit",
        "report zeros in biases, residual ends or lora_B: they belong there",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "all weights zero: the loss is ln 10 to the last digit, only the output bias moves",
            present=(
                "flat-from-start",
                "loss-at-chance",
                "prediction-collapse",
                "vanishing-gradients",
                "unchanged-weights",
                "dead-units",
            ),
            absent=(
                "saturated-units",
                "huge-updates",
                "loss-spike",
                "nonfinite-loss",
                "high-initial-loss",
                "exploding-gradients",
            ),
            within=3,
        ),
        Case("healthy", "random weights, the loss falls at once", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss jumps and its updates are huge",
            present=("huge-updates", "loss-spike", "oscillation"),
            absent=("flat-from-start",),
            expects="lr-too-high",
        ),
        Case("missing", "flat at chance, weights unknown", present=("flat-from-start", "loss-at-chance")),
    ),
    log_visible=False,
    needs="the spread of the weights within each layer (a checkpoint, or a live recording)",
)
