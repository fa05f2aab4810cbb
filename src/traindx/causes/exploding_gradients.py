"""Cause: the design amplifies gradients from layer to layer or step to step."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Gradient norms that are large throughout, or that grow until the loss jumps, becomes Inf or NaN. Early layers (or
early time steps) have far larger norms than late ones. A lower learning rate postpones the accident and does not
prevent it.

## Why it happens
Each layer multiplies the backward signal by its weights. With singular values above 1 the product grows exponentially
with depth, or with sequence length in a recurrent network: 1.1 over 100 steps is 14 000. Reasons in the design: a
plain RNN over long sequences; a deep stack without normalisation; weights drawn too large (six tanh layers with std 1
on the 8×8 digits have a first-layer norm of 120, a last-layer norm of 1.3); residual sums without normalisation;
inputs in the thousands. A large batch is not a reason; a rate scaled up for it without warm-up is.

## How to tell it from its look-alikes
Look at the profile over layers: growth towards the *input* is this cause. One factor on all layers is a scale: a
summed loss, missing accumulation scaling, unscaled targets, or the AMP loss scale. Isolated peaks over a calm median
are `grad-clip-missing` or bad samples. Growth from step to step at equal loss is `missing-zero-grad`. traindx
compares the norm with the run's own median. Fixed limits (above 100 is bad, below 10 is good) are right only by luck,
since the norm grows with the number of parameters and the loss scale. NaN by itself is not evidence: among resolved
reports precision and data explain two thirds.

## How to fix it
1. `clip-gradients`: by norm, 1.0 or the 90th percentile; essential for recurrent networks.
2. `lower-lr`, for example 1e-4 instead of 1e-3, and `add-warmup`, while the design is repaired.
3. `default-init`, scaled by fan-in; a fixed std of 0.01 to 0.1 is right for some widths only.
4. `normalisation-layers`: LayerNorm in recurrent networks and transformers.
5. `gated-recurrence` instead of a plain RNN, `spectral-norm` where a layer must not amplify.
6. `normalise-inputs` to zero mean and unit variance, where they are in the hundreds.

## What NOT to do
- Do not stop at clipping when most steps are clipped: the direction is already dominated by a few layers.
- Do not answer every NaN with clipping: NaN passes through it.
- Do not switch to float16 or to a longer sequence until the profile is flat.

## References
- Pascanu, Mikolov and Bengio, *On the Difficulty of Training Recurrent Neural Networks*, ICML 2013.
- Hanin, *Which Neural Net Architectures Give Rise to Exploding and Vanishing Gradients?*, NeurIPS 2018.
- Miyato et al., *Spectral Normalization for Generative Adversarial Networks*, ICLR 2018.
- Ba, Kiros and Hinton, *Layer Normalization*, 2016.
"""

CAUSE = Cause(
    id="exploding-gradients",
    title="gradients explode with depth or sequence length",
    group="gradient flow",
    check="log the norm that clip_grad_norm_ returns, step by step: growing all the time, not only at spikes",
    prior="occasional",
    predicts={
        "spike-at-rate-change": "rarely",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "exploding-gradients": "always",
        "huge-updates": "usually",
        "loss-spike": "often",
        "divergence": "often",
        "nonfinite-loss": "often",
        "nonfinite-gradient": "often",
        "nonfinite-weight": "sometimes",
        "nonfinite-activation": "sometimes",
        "oscillation": "sometimes",
        "high-initial-loss": "sometimes",
        "saturated-units": "sometimes",
        "dead-units": "sometimes",
        "plateau": "sometimes",
        "loss-scale-collapse": "sometimes",
        "val-spike": "sometimes",
        "loss-at-chance": "sometimes",
        "flat-from-start": "rarely",
        "slow-convergence": "rarely",
        "underfitting": "sometimes",
        "overfitting-gap": "rarely",
        "still-improving": "rarely",
        "vanishing-gradients": "never",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "never",
        "signal-grows": "often",
        "batch-diverges": "often",
        "lr-above-stable": "often",
        "scaling-cures": "rarely",
    },
    look_alikes={
        "lr-too-high": "gradient norms of all layers are alike, and a lower rate cures it for good",
        "missing-zero-grad": "all layers grow by one factor from step to step",
        "loss-sum-reduction": "all layers are too large by one constant factor from step 1, and so is the loss",
        "fp16-overflow": "gradient norms are moderate in fp32; only half precision makes them Inf",
        "grad-clip-missing": "the median gradient norm is ordinary and single steps stand out",
    },
    fixes=(
        "clip-gradients",
        "lower-lr",
        "add-warmup",
        "default-init",
        "normalisation-layers",
        "gated-recurrence",
        "spectral-norm",
        "normalise-inputs",
    ),
    line=("random-weights", "backward"),
    do_not=(
        "stop at clipping when most steps are clipped: a few layers already dominate the direction",
        "answer every NaN with clipping: NaN passes through it, and precision or data are likelier",
        "judge the norm by a fixed limit: it grows with the model and the scale of the loss",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "norms grow towards the input, updates are huge, gradients reach Inf, the loss is NaN",
            present=("exploding-gradients", "huge-updates", "nonfinite-gradient", "nonfinite-loss", "divergence"),
            absent=("high-initial-loss", "vanishing-gradients", "lr-schedule-anomaly"),
            within=2,
        ),
        Case("healthy", "norms steady and alike in all layers", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "huge updates at ordinary gradient norms",
            present=("huge-updates", "oscillation", "divergence"),
            absent=("exploding-gradients", "nonfinite-gradient"),
            expects="lr-too-high",
        ),
        Case("missing", "a NaN without gradient norms", present=("nonfinite-loss",)),
    ),
)
