"""Cause: training starts at full speed."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Trouble in the first few hundred steps: a spike, a jump to a bad level or NaN, and afterwards either a slow recovery
or a long flat stretch (a language model stuck at the unigram entropy is typical). The first logged learning rate is
already the peak. The same rate is harmless later in the run. A mild case only costs time: a public GPT-2 ablation
without warm-up stood at 4.9 instead of 4.2 after 1000 steps and ended 0.08 worse, with no other sign.

## Why it happens
- Adam divides by a running mean of squared gradients. After a handful of steps that mean is a noisy guess, and every
  coordinate moves by nearly the full lr (Liu et al. 2020). With β2 = 0.999 it takes about a thousand steps to settle.
- A fresh network is sharp. Warm-up lets the weights reach a flatter region before the rate rises (Gilmer et al.
  2021).
- Post-norm transformers have large gradients near the output at initialisation; without warm-up they fail outright
  (Xiong et al. 2020). Pre-norm ones mostly survive.
- A large batch with a linearly scaled rate breaks the scaling rule exactly in the first epochs (Goyal et al. 2017).

## How to tell it from its look-alikes
Only the beginning is sick. traindx asks where the spike lies and whether the rate was at its peak in the first
percent of the run. Trouble that goes on, or comes later, is `lr-too-high`. A first loss far above chance is
`init-too-large`: warm-up would not lower the first value. A NaN in step 1 is precision or data, because not even a
huge rate can spoil the loss before the first update.

## How to fix it
1. `add-warmup`: 5 % of the steps, or 500 to 2000 for transformers, linear from near zero.
2. `clip-gradients` at 1.0 as a companion; the two are used together in nearly every transformer recipe.
3. `lower-lr` if the spike only moves to the end of the ramp: the peak is too high.
4. `normalisation-layers`, in the pre-norm place, if the network is a post-norm transformer.

## What NOT to do
- Do not lower the peak rate for the whole run because of its first 200 steps.
- Do not warm up for half of the run: the rate is then never high long enough.
- Do not forget it on resume: with fresh optimizer moments a resumed run needs its own short ramp.

## References
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017.
- Liu et al., *On the Variance of the Adaptive Learning Rate and Beyond*, ICLR 2020.
- Xiong et al., *On Layer Normalization in the Transformer Architecture*, ICML 2020.
- Gilmer et al., *A Loss Curvature Perspective on Training Instability in Deep Learning*, 2021.
- Vaswani et al., *Attention Is All You Need*, NeurIPS 2017.
"""

CAUSE = Cause(
    id="warmup-missing",
    title="no learning-rate warm-up",
    group="learning rate",
    check="start at a tenth of the rate and rise to it over the first 500 steps",
    prior="occasional",
    predicts={
        "warm-up-seen": "never",
        "warming-up": "never",
        "spike-at-rate-change": "sometimes",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "lr-schedule-anomaly": "often",
        "loss-spike": "often",
        "slow-convergence": "often",
        "huge-updates": "often",
        "plateau": "sometimes",
        "divergence": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "exploding-gradients": "sometimes",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "dead-units": "sometimes",
        "saturated-units": "sometimes",
        "prediction-collapse": "sometimes",
        "underfitting": "sometimes",
        "oscillation": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
    },
    look_alikes={
        "lr-too-high": "the trouble goes on after the first few hundred steps",
        "init-too-large": "the very first loss, before any update, is far above chance",
        "fp16-overflow": "the first NaN comes at step 1 or out of a calm loss, at any rate",
        "optimizer-recreated": "the same early roughness returns at every epoch or at the resume step",
    },
    fixes=("add-warmup", "clip-gradients", "lower-lr", "normalisation-layers"),
    line=("optimizer",),
    do_not=(
        "lower the peak rate for the whole run because of its first steps",
        "warm up for half of the run: the rate is then never high long enough",
        "blame the flat stretch during a ramp that exists: a rate near zero moves nothing yet",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "full rate from step 0, spike at step 40, huge early updates, slow afterwards",
            present=("lr-schedule-anomaly", "loss-spike", "huge-updates", "slow-convergence"),
            absent=("oscillation", "plateau", "high-initial-loss", "tiny-updates", "nonfinite-loss"),
            within=2,
        ),
        Case("healthy", "a ramp, then a steady descent", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "swings and huge updates all through the run, the schedule is in order",
            present=("oscillation", "huge-updates", "divergence"),
            absent=("lr-schedule-anomaly", "slow-convergence"),
            expects="lr-too-high",
        ),
        Case("missing", "one spike in a log without learning rates", present=("loss-spike",)),
    ),
)
