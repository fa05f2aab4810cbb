"""Cause: sigmoid or tanh units are driven to their limits."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
An early plateau, or a very slow descent from a first loss that is too high. Activations cluster at -1 and +1 (tanh)
or at 0 and 1 (sigmoid). Gradients are small although the loss is large. Attention that puts all its weight on one
token, and softmax outputs at 0 and 1 on wrong classes, are the same thing elsewhere.

## Why it happens
The derivative of tanh is below 0.01 beyond |x| = 3, that of the sigmoid below 0.0025 beyond |x| = 6. Pre-activations
get there through large weights (std 1 at a fan-in of 100 gives a std of 10), unscaled inputs, or one large update.
Tanh with std-1 weights on the 8×8 digits: 82 % of the first layer beyond ±0.95, first loss 16 instead of 2.3,
validation accuracy 61 % after 20 epochs against 97.5 % with default weights, which stay at 0 to 16 %. Gradients
vanish unit by unit, while the few that are not saturated get huge ones, so the global norm can even look large (347
with six such layers).

## How to tell it from its look-alikes
The distribution of activations decides. traindx reports the share of values beyond 0.95 of the range, per layer and
over time: under 20 % is common, over half of a layer is this cause. Sigmoids near 0.5 with tiny gradients are
`vanishing-gradients` by depth. Zeros are `dead-relu`. Gates of an LSTM are *meant* to saturate now and then, and a
confident output layer saturates at the end of every good classification run; hidden layers count.

## How to fix it
1. `default-init`: Xavier is made for tanh and sigmoid.
2. `normalise-inputs`: no initialisation helps if they are in the hundreds.
3. `lower-lr` when it began during training.
4. `add-regularisation`: weight decay keeps the weights small.
5. `normalisation-layers` before the activation.
6. `use-relu-family` in hidden layers; keep the sigmoid or tanh that the output needs.

## What NOT to do
- Do not raise the rate to push through: larger weights saturate more.
- Do not remove the output's sigmoid without switching the loss to its logits form.
- Do not judge by the gradient norm alone: it can be small or large here.

## References
- LeCun, Bottou, Orr and Müller, *Efficient BackProp*, 1998.
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
- Ioffe and Szegedy, *Batch Normalization*, ICML 2015.
"""

CAUSE = Cause(
    id="saturation",
    title="saturated sigmoid or tanh units",
    group="gradient flow",
    check="print the share of outputs beyond ±0.95 after each tanh, or 0.05 and 0.95 after each sigmoid: above "
    "half if so",
    prior="rare",
    predicts={
        "small-gradient-norm": "often",
        "straight-path": "sometimes",
        "saturated-units": "always",
        "plateau": "often",
        "vanishing-gradients": "often",
        "slow-convergence": "often",
        "tiny-updates": "often",
        "high-initial-loss": "often",
        "flat-from-start": "sometimes",
        "loss-at-chance": "often",
        "underfitting": "often",
        "prediction-collapse": "sometimes",
        "exploding-gradients": "sometimes",
        "overfitting-gap": "sometimes",
        "still-improving": "sometimes",
        "loss-spike": "rarely",
        "oscillation": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "no-gradient": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "rarely",
        "batch-not-learned": "often",
    },
    look_alikes={
        "vanishing-gradients": "units stand in the middle of their range and depth alone shrinks the gradient",
        "dead-relu": "units are at zero, not at the limits of their range",
        "init-too-large": "the reason behind it when units are saturated before the first step",
        "inputs-not-normalized": "the reason behind it when only the first layer is saturated",
    },
    fixes=(
        "default-init",
        "normalise-inputs",
        "lower-lr",
        "add-regularisation",
        "normalisation-layers",
        "use-relu-family",
    ),
    line=("hidden-squash", "random-weights"),
    do_not=(
        "raise the rate to push through: larger weights saturate more",
        "remove the output's sigmoid without switching the loss to its logits form",
        "call a confident output layer or an LSTM gate saturated: those are meant to reach their limits",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "four fifths of the tanh values beyond 0.95 in every layer, tiny updates, early plateau",
            present=("saturated-units", "plateau", "vanishing-gradients", "tiny-updates"),
            absent=(
                "dead-units",
                "nonfinite-loss",
                "huge-updates",
                "no-gradient",
                "high-initial-loss",
                "flat-from-start",
            ),
            within=2,
        ),
        Case("healthy", "a tenth of the values near the limits", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "sigmoids near one half, gradients shrink layer by layer",
            present=("vanishing-gradients", "flat-from-start", "loss-at-chance", "tiny-updates"),
            absent=("saturated-units", "high-initial-loss"),
            expects="vanishing-gradients",
        ),
        Case("missing", "an early plateau, activations unknown", present=("plateau",)),
    ),
    log_visible=False,
    needs="the distribution of activations per layer (a live recording, or a probe of the model on one batch)",
)
