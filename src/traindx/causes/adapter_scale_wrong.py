"""Cause: adapters are scaled or trained at a rate that does not fit them."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
One of two pictures. The loss hardly falls in a whole epoch, smoothly and without noise: the rate is one for full
fine-tuning. Or it falls, turns rough, spikes, and answers lose what the base could do: alpha / r is far too large.

## Why it happens
What an adapter adds is multiplied by alpha / r. With alpha 1024 and rank 4 every update counts 256 times. The second
matrix starts at zero, so that an adapter must travel further than trained weights do: LoRA wants about ten times the
rate of full fine-tuning, 1e-4 to 4e-4 with Adam. A rate of 1e-5 that is right for all weights leaves an adapter where
it began. Reverse, full fine-tuning at 2e-4 overwrites the model.

## How to tell it from its look-alikes
traindx compares the norm of the scaled product with that of the base matrix. A rate that is too low for everything
moves all weights by little, with or without adapters. An adapter that is not attached does not move at all.

## How to fix it
1. `set-adapter-scale`: alpha of once or twice the rank, a rate of about 2e-4.
2. `lower-lr` where only the rate is too high.

## What NOT to do
- Do not raise scale and rate together: they multiply.
- Do not raise the rank to make up for a small rate: the scale falls with it.
- Do not judge by the number of trainable parameters.

## References
- Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, ICLR 2022.
- Kalajdzievski, *A Rank Stabilization Scaling Factor for Fine-Tuning with LoRA*, 2023.
- Schulman et al., *LoRA Without Regret*, 2025.
"""

CAUSE = Cause(
    id="adapter-scale-wrong",
    title="scale or rate does not fit the adapter",
    group="which weights move",
    check="print alpha / r and the learning rate: 1 to 2 and about 1e-4 to 5e-4 are usual for LoRA",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "adapter-scale-extreme": "always",
        "clipped-hard": "often",  # gradients of both factors grow with the scale
        "exploding-gradients": "often",
        "flat-from-start": "sometimes",
        "slow-convergence": "often",
        "still-improving": "often",
        "loss-spike": "sometimes",
        "oscillation": "sometimes",
        "huge-updates": "sometimes",
        "plateau": "sometimes",
        "underfitting": "sometimes",
        "divergence": "sometimes",
        "adapter-inactive": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "adapter-not-attached": "nothing of the adapter moves; here it moves by too little or too much",
        "lr-too-low": "all weights move too little; here the rate would do for full fine-tuning",
        "lr-too-high": "weights without a scale overshoot",
    },
    fixes=(
        "set-adapter-scale",
        "lower-lr",
    ),
    do_not=(
        "raise scale and rate together: they multiply",
        "raise the rank to make up for a small rate: the scale falls with it",
        "judge by the number of trainable parameters",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "LoRA at 1e-5, the loss hardly falls",
            present=(
                "adapter-scale-extreme",
                "slow-convergence",
                "still-improving",
            ),
            absent=(
                "adapter-inactive",
                "nonfinite-loss",
                "no-gradient",
            ),
        ),
        Case(
            "healthy",
            "LoRA of rank 64 at 2e-4",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "adapter-scale-extreme",
            ),
        ),
        Case(
            "look-alike",
            "an adapter loaded for inference",
            present=(
                "adapter-inactive",
                "flat-from-start",
            ),
            absent=("adapter-scale-extreme",),
            expects="adapter-not-attached",
        ),
        Case("missing", "slow convergence in a log", present=("slow-convergence",), absent=()),
    ),
    log_visible=False,
    needs="the norm of what adapters add (a live recording)",
)
