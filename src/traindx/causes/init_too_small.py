"""Cause: the initial weights are too small."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss starts exactly at chance and does nothing for a while; then it suddenly falls, or never does. With std 1e-3
in a three-layer ReLU network on the 8×8 digits, SGD stood at 2.306 for five epochs and then reached 0.15 by the
twentieth. With std 0.01 and seven layers it never moved. Adam hurries the escape and still ends worse (0.69 instead
of 0.02).

## Why it happens
If fan_in × std² is far below 1 (2 for ReLU), the signal shrinks in every layer, forward and backward. Outputs are
then the same for all inputs, and the first layers receive the product of all the small weights: 3e-7 in the
seven-layer case against 1.2e-2 in the last. The origin is a saddle point of a deep network: the weights have to grow
first, by a gradient that is itself small, so the delay is long and the escape sudden (Saxe et al. 2014). Usual slips:
std 0.01 from a recipe of 2012 in a deeper net; `weight.data *= 0.01`; std 1 / fan_in instead of its square root;
PyTorch's default, which is a factor of 2.4 below Kaiming's, in more than about eight bare ReLU layers.

## How to tell it from its look-alikes
Feed one batch and print the standard deviation of each layer's output: it falls by a constant factor per layer.
Sigmoid networks vanish in the *gradient* with ordinary weights; here the activations vanish first. Equal weights are
`constant-init`. Seeming dead units are frequent here, about half of a layer, because biases outweigh the tiny signal:
they wake when the weights grow. The sudden drop after a delay is what `lr-too-low` never shows.

## How to fix it
1. `default-init`: Kaiming for ReLU, Xavier for tanh.
2. `normalisation-layers`: they restore unit variance whatever the weights are.
3. `residual-connections` for deep stacks.

If the escape has already begun and a restart is costly, let the run go on.

## What NOT to do
- Do not raise the rate far: once the weights have grown, the same rate is too high.
- Do not stop in the flat stretch if the weight norm is growing: the fall comes.
- Do not confuse it with a small *output* layer, which is good practice: it makes the first loss equal chance.

## References
- Saxe, McClelland and Ganguli, *Exact Solutions to the Nonlinear Dynamics of Learning in Deep Linear Networks*, ICLR
  2014.
- Mishkin and Matas, *All You Need Is a Good Init*, ICLR 2016.
- He et al., *Delving Deep into Rectifiers*, ICCV 2015.
"""

CAUSE = Cause(
    id="init-too-small",
    title="initial weights too small",
    group="initialisation",
    check="print the standard deviation of each layer's output on one batch: it shrinks layer by layer if so",
    prior="rare",
    predicts={
        "small-gradient-norm": "often",
        "straight-path": "sometimes",
        "initial-weights-small": "always",
        "latent-unused": "often",
        "initial-weights-large": "never",
        "equal-initial-weights": "never",
        "flat-from-start": "often",
        "loss-at-chance": "usually",
        "vanishing-gradients": "usually",
        "prediction-collapse": "usually",
        "dead-units": "often",
        "plateau": "sometimes",
        "slow-convergence": "often",
        "underfitting": "often",
        "tiny-updates": "often",
        "huge-updates": "often",
        "still-improving": "sometimes",
        "val-at-chance": "sometimes",
        "loss-spike": "rarely",
        "oscillation": "rarely",
        "no-gradient": "rarely",
        "overfitting-gap": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "divergence": "never",
        "high-initial-loss": "never",
        "saturated-units": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "usually",
        "signal-grows": "never",
        "batch-not-learned": "often",
        "batch-barely-moves": "sometimes",
        "lr-below-useful": "sometimes",
    },
    look_alikes={
        "vanishing-gradients": "activations keep their spread and only the gradient shrinks",
        "constant-init": "weights within a layer are identical, not just small",
        "lr-too-low": "a slow straight line; here nothing happens and then a sudden fall",
        "dead-relu": "units never wake; here they do once the weights have grown",
    },
    fixes=("default-init", "normalisation-layers", "residual-connections"),
    line=("random-weights",),
    do_not=(
        "raise the rate far: once the weights have grown the same rate is too high",
        "stop in the flat stretch while the weight norm grows: the fall comes",
        "call a small output layer a fault: it makes the first loss equal chance, as it should",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "flat at chance, signal and gradients shrink by layer, many units silent but not frozen",
            present=("loss-at-chance", "flat-from-start", "vanishing-gradients", "prediction-collapse", "dead-units"),
            absent=("unchanged-weights", "saturated-units", "high-initial-loss", "nonfinite-loss", "huge-updates"),
            within=4,
        ),
        Case("healthy", "spread of one in every layer", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "first loss far above chance and saturated units",
            present=("high-initial-loss", "saturated-units"),
            absent=("loss-at-chance", "prediction-collapse"),
            expects="init-too-large",
        ),
        Case("missing", "flat at chance, weights unknown", present=("flat-from-start", "loss-at-chance")),
    ),
    log_visible=False,
    needs="activation and gradient spread per layer on the first batch (a probe, or a live recording)",
)
