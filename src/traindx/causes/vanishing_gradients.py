"""Cause: the design lets gradients die on the way to the first layers."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A loss that stays at chance for a long time, or for ever, in a deep network. If it falls, it falls late and suddenly.
The last layers change, the first ones do not: the network behaves like a shallow one on random features.

## Why it happens
Backpropagation multiplies one factor per layer. A sigmoid contributes at most 0.25, tanh less than 1 away from zero,
and weights that are too small add their own factor below 1. The product is exponential in depth. A ten-layer sigmoid
network on the 8×8 digits has gradient norms of 0.26 in the last layer and 2.9e-9 in the first, a factor of about
seven per layer, and ends at 2.306 after 20 epochs with SGD or Adam. The same holds along time in a plain RNN. Even
ReLU is no guarantee: ten bare layers with PyTorch's default initialisation stayed at chance under SGD, first-layer
norm 1.5e-4.

## How to tell it from its look-alikes
Look at the profile over layers. It must decay *exponentially with depth*. The global norm does not show it: in the
example it was 0.45 to 0.56, well inside the range of 0.1 to 10 that is often called healthy, because the last layer
dominates. A fixed limit of 1e-7 is too late and depends on the scale of the loss; a max/min ratio over 1000 fires on
biases and embeddings. traindx compares layers with their neighbours instead; within two orders of magnitude is
healthy. Dead ReLUs have gradients of exactly zero with zero activations. Saturated units sit at their limits; here
the sigmoids stood near 0.5, none saturated. A low rate slows all layers alike.

## How to fix it
1. `use-relu-family` in the hidden layers, with Kaiming initialisation.
2. `default-init`: std sqrt(2 / fan_in) for ReLU, sqrt(2 / (fan_in + fan_out)) for tanh.
3. `normalisation-layers` between them.
4. `residual-connections`: the strongest cure for depth.
5. `gated-recurrence` for plain RNNs.

## What NOT to do
- Do not clip gradients: clipping only shortens them, although some lists name it as a cure.
- Do not raise the learning rate: the last layer blows up long before the first one moves.
- Do not add layers: every further one makes it worse.

## References
- Hochreiter, *Untersuchungen zu dynamischen neuronalen Netzen*, diploma thesis, 1991.
- Bengio, Simard and Frasconi, *Learning Long-Term Dependencies with Gradient Descent Is Difficult*, 1994.
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
- He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016.
"""

CAUSE = Cause(
    id="vanishing-gradients",
    title="gradients vanish with depth",
    group="gradient flow",
    check="print p.grad.norm() per layer after one backward(): far smaller in the first layers",
    prior="occasional",
    predicts={
        "small-gradient-norm": "usually",
        "straight-path": "sometimes",
        "equal-initial-weights": "never",
        "vanishing-gradients": "always",
        "flat-from-start": "usually",
        "loss-at-chance": "usually",
        "tiny-updates": "usually",
        "prediction-collapse": "often",
        "underfitting": "often",
        "saturated-units": "sometimes",
        "fades-over-time": "sometimes",
        "plateau": "sometimes",
        "slow-convergence": "sometimes",
        "unchanged-weights": "sometimes",
        "val-at-chance": "sometimes",
        "dead-units": "sometimes",
        "still-improving": "rarely",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "no-gradient": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "usually",
        "signal-grows": "never",
        "batch-not-learned": "usually",
        "batch-barely-moves": "sometimes",
        "lr-below-useful": "sometimes",
    },
    look_alikes={
        "dead-relu": "gradients are exactly zero and the units output zero for every sample",
        "saturation": "units sit at the limits of their range; vanishing needs only depth",
        "lr-too-low": "all layers move too little, not only the first ones",
        "detached-graph": "gradients are None, not small",
        "init-too-small": "activations shrink from layer to layer as well, with any activation function",
    },
    fixes=(
        "use-relu-family",
        "default-init",
        "normalisation-layers",
        "residual-connections",
        "gated-recurrence",
    ),
    line=("hidden-squash",),
    do_not=(
        "clip gradients: clipping only shortens them",
        "raise the learning rate: the last layer blows up long before the first one moves",
        "trust the global norm: the last layer dominates it and looks healthy",
        "add layers or epochs: depth is the cause and time does not change the factor",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "ten sigmoid layers: norms fall by seven per layer, the loss stays at chance",
            present=("vanishing-gradients", "flat-from-start", "loss-at-chance", "tiny-updates"),
            absent=(
                "dead-units",
                "saturated-units",
                "no-gradient",
                "nonfinite-loss",
                "exploding-gradients",
                "huge-updates",
            ),
        ),
        Case("healthy", "layer norms within one order of magnitude", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "units at exactly zero for every sample",
            present=("dead-units", "flat-from-start", "prediction-collapse", "unchanged-weights"),
            absent=("vanishing-gradients", "saturated-units"),
            expects="dead-relu",
        ),
        Case("missing", "a flat loss at chance, nothing from inside", present=("flat-from-start", "loss-at-chance")),
    ),
    log_visible=False,
    needs="gradient norms per layer (a live recording, or a log that has them)",
)
