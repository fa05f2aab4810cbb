"""Cause: momentum is too high."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Slow, regular waves: the loss falls, rises, falls again, with a period of tens to hundreds of steps. Single batches
are calm; it is the averaged curve that swings. A severe case learns first and collapses later: SGD at 0.1 with
momentum 0.99 reached 0.46 on the 8×8 digits after three epochs and sat at chance (2.4) after ten; 0.9 at the same
rate went to 0.0004.

## Why it happens
Momentum β remembers about 1 / (1 - β) gradients: 10 at 0.9, 100 at 0.99, 1000 at 0.999. The steady step is lr / (1 -
β), so going from 0.9 to 0.99 also multiplies the step by ten. A long memory underdamps the motion: the weights shoot
past the minimum and come back, like a heavy ball. Adam's β1 = 0.99 does the same. A β2 that is *lower* than 0.999 is
no such fault. A common slip is `betas=(0.999, 0.9)`, or passing a decay constant such as 0.999 where `momentum` is
expected.

## How to tell it from its look-alikes
Period and direction. Overshoot by the rate alone alternates from step to step; momentum swings over many steps and
consecutive updates point the same way. Uncleared gradients swing too, but there the gradient norm grows without
bound. Small batches have no period. Halving the rate lengthens these waves instead of stopping them. That is the
test.

## How to fix it
1. `lower-momentum` to 0.9, β1 for Adam likewise.
2. `lower-lr` by the factor (1 - old β) / (1 - new β) if the high momentum is intended.
3. `add-warmup` for the momentum too, where a recipe really needs 0.99.

## What NOT to do
- Do not only lower the rate: the waves get longer, not smaller.
- Do not read one wave as overfitting or as a plateau: look at two periods.
- Do not replace the optimizer: the same β in another one rings as well.

## References
- Goh, *Why Momentum Really Works*, Distill 2017.
- Sutskever et al., *On the Importance of Initialization and Momentum in Deep Learning*, ICML 2013.
- Qian, *On the Momentum Term in Gradient Descent Learning Algorithms*, Neural Networks 1999.
"""

CAUSE = Cause(
    id="momentum-too-high",
    title="momentum too high",
    group="optimisation",
    check="train 200 steps with momentum 0.9 (or betas=(0.9, 0.999))",
    prior="rare",
    predicts={
        "high-momentum": "always",
        "straight-path": "rarely",
        "momentum-extreme": "always",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "oscillation": "usually",
        "huge-updates": "often",
        "divergence": "sometimes",
        "loss-spike": "sometimes",
        "plateau": "sometimes",
        "slow-convergence": "sometimes",
        "val-noisy": "sometimes",
        "val-spike": "sometimes",
        "dead-units": "sometimes",
        "loss-at-chance": "sometimes",
        "underfitting": "sometimes",
        "prediction-collapse": "sometimes",
        "exploding-gradients": "sometimes",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "still-improving": "rarely",
        "vanishing-gradients": "never",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "often",
        "lr-above-stable": "often",
        "scaling-cures": "never",
    },
    look_alikes={
        "lr-too-high": "swings from step to step and calms down when the rate is halved; momentum waves get longer",
        "missing-zero-grad": "waves with a gradient norm that grows without bound",
        "batch-too-small": "jitter without a period",
        "not-shuffled": "the period is exactly one epoch",
    },
    fixes=("lower-momentum", "lower-lr", "add-warmup"),
    line=("setting momentum",),
    do_not=(
        "only lower the rate: the waves get longer, not smaller",
        "read one wave as a plateau or overfitting: look at two periods",
        "replace the optimizer: the same momentum overshoots in any of them",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "slow waves over hundreds of steps, long updates, calm gradient norm",
            present=("oscillation", "huge-updates"),
            absent=(
                "exploding-gradients", "nonfinite-loss", "flat-from-start", "lr-schedule-anomaly", "loss-at-chance",
                "plateau",
                "val-noisy", "dead-units", "high-initial-loss",
            ),
            within=4,
        ),
        Case("healthy", "no waves", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "waves while the gradient norm climbs from step to step",
            present=("oscillation", "exploding-gradients", "divergence", "underfitting"),
            absent=("loss-at-chance",),
            expects="missing-zero-grad",
        ),
        Case("missing", "a swinging loss, optimizer unknown", present=("oscillation",)),
    ),
)  # fmt: skip
