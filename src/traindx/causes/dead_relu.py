"""Cause: ReLU units are off for every input and cannot return."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Learning stops after a good start, often right after a spike, or never begins. The network answers the same for every
input and the loss lies at chance. In milder cases a part of the network is simply missing: the plateau is higher than
the parameter count suggests, and validation stops improving first.

## Why it happens
A ReLU whose input is negative for *every* sample outputs zero and passes no gradient, so its weights never change
again. Two things push it there: biases far below the spread of the inputs (with -2 on the 8×8 digits 95 % of the
first layer and all of the second are dead before the first step, every weight gradient exactly 0), and one oversized
step (SGD at lr 1: 98 % dead within the first epochs). Inputs that are all negative, or unscaled, do the same. With
narrow layers and depth the chance of a dead layer at initialisation rises quickly (Lu et al. 2020).

## How to tell it from its look-alikes
Count *units that are zero for all samples*, not zero activations. A fresh, healthy ReLU layer has half of its
activations at zero by symmetry: 49 % in the example above, with no unit dead. The usual limits of 40 or 50 % zeros
therefore call every healthy network sick. traindx looks at each unit over many samples and steps, and says whether it
stayed off. 10 % dead is common and harmless; above half of a layer it hurts. Zero gradients with *live* activations
mean a detached graph or frozen weights; small but nonzero ones mean vanishing gradients.

## How to fix it
1. `lower-lr`, with `add-warmup`, when units died during training.
2. `zero-bias-init`: biases at 0 or 0.01.
3. `leaky-relu` (or PReLU, GELU): the negative side keeps a gradient, and dead units can return.
4. `default-init` with Kaiming scaling.
5. `normalisation-layers` before the activation re-centre its input.

## What NOT to do
- Do not train longer: a dead unit has a gradient of zero for ever.
- Do not add units: the same biases and rate kill them too.
- Do not call sparsity death: a unit that fires for 2 % of the samples is alive and may be specialised.

## References
- Lu, Shin, Su and Karniadakis, *Dying ReLU and Initialization: Theory and Numerical Examples*, 2020.
- Maas, Hannun and Ng, *Rectifier Nonlinearities Improve Neural Network Acoustic Models*, 2013.
- He et al., *Delving Deep into Rectifiers*, ICCV 2015 (PReLU and initialisation).
- Glorot, Bordes and Bengio, *Deep Sparse Rectifier Neural Networks*, AISTATS 2011.
"""

CAUSE = Cause(
    id="dead-relu",
    title="dead ReLU units",
    group="gradient flow",
    check="print (activation == 0).float().mean() of each ReLU on one batch: above 0.9 is dead",
    prior="occasional",
    predicts={
        "straight-path": "sometimes",
        "equal-initial-weights": "never",
        "dead-units": "always",
        "prediction-collapse": "usually",
        "plateau": "often",
        "flat-from-start": "often",
        "loss-at-chance": "often",
        "tiny-updates": "often",
        "unchanged-weights": "often",
        "underfitting": "often",
        "vanishing-gradients": "often",
        "val-at-chance": "sometimes",
        "no-gradient": "rarely",
        "loss-spike": "sometimes",
        "slow-convergence": "sometimes",
        "high-initial-loss": "rarely",
        "huge-updates": "sometimes",
        "divergence": "sometimes",
        "oscillation": "rarely",
        "overfitting-gap": "rarely",
        "still-improving": "rarely",
        "exploding-gradients": "never",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "saturated-units": "never",
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
        "vanishing-gradients": "gradients are small numbers; behind dead units they are exactly zero",
        "lr-too-high": "the same end, but units were alive at step 0 and a burst killed them: lower the rate first",
        "saturation": "units sit at the limits of a sigmoid or tanh, not at zero",
        "frozen-params": "activations are alive and only the weights stand still",
        "constant-init": "units are not off but identical to each other",
    },
    fixes=("lower-lr", "add-warmup", "zero-bias-init", "leaky-relu", "default-init", "normalisation-layers"),
    line=("constant-biases", "hidden-relu"),
    do_not=(
        "train longer: a dead unit has a gradient of zero for ever",
        "add units: the same biases and rate kill them too",
        "count zero activations: half of them are zero in a healthy ReLU layer",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "95 % of a layer off for every sample from step 0, constant output, weights stand still",
            present=("dead-units", "prediction-collapse", "loss-at-chance", "tiny-updates", "unchanged-weights"),
            absent=(
                "huge-updates",
                "saturated-units",
                "nonfinite-loss",
                "exploding-gradients",
                "oscillation",
                "loss-spike",
            ),
        ),
        Case("healthy", "half of the activations are zero, no unit always", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "tanh units at their limits",
            present=("saturated-units", "plateau", "vanishing-gradients"),
            absent=("dead-units",),
            expects="saturation",
        ),
        Case("missing", "a plateau, activations unknown", present=("plateau", "underfitting")),
    ),
    log_visible=False,
    needs="activations per unit over several batches (a live recording, or a probe of the model on one batch)",
)
