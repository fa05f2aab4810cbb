"""Cause: nothing limits the rare, very long gradient."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A calm run with isolated spikes: the gradient norm jumps to ten or a hundred times its running median for one step,
the loss jumps right after it and comes back over tens or hundreds of steps. Sooner or later one spike does not come
back. Between the spikes everything is healthy.

## Why it happens
The loss surface of recurrent networks and transformers has cliffs (Pascanu et al. 2013). On a cliff the gradient is
enormous for a moment, and an unclipped step throws the weights far away. Long sequences, rare tokens, outlier targets
under a squared error and reinforcement-learning returns produce such steps regularly. Adam softens them only partly:
one gradient 100 times the usual size stays in the second moment for about 1 / (1 - β2) steps and stalls the run
meanwhile.

## How to tell it from its look-alikes
Order and rarity decide. The norm leads the loss by one step, and the median norm is ordinary. If the norm is high
*always*, the design is at fault (`exploding-gradients`) or the loss is summed. If the same sample or shard stands
behind every spike, it is `corrupt-samples`. If updates are huge without a large gradient, it is `lr-too-high`. An
absolute limit such as 100 says little: traindx compares each norm with the run's own running median, because a
healthy norm may be 0.1 or 50.

## How to fix it
1. `clip-gradients` at the 90th percentile of calm steps, 1.0 for most transformers; essential for RNN and LSTM.
2. `resume-from-checkpoint` from before the spike that did not recover.
3. `add-warmup` if all the spikes lie in the first few hundred steps.
4. `lower-lr` if spikes remain although norms are clipped.

## What NOT to do
- Do not clip and forget: look at the batches behind the three largest norms first, since corrupt data gives the same
  picture.
- Do not expect clipping to cure NaN: a NaN norm makes every gradient NaN.
- Do not clip scaled gradients under AMP: unscale first, or the threshold means nothing.

## References
- Pascanu, Mikolov and Bengio, *On the Difficulty of Training Recurrent Neural Networks*, ICML 2013.
- Zhang, He, Sra and Jadbabaie, *Why Gradient Clipping Accelerates Training*, ICLR 2020.
- Brock et al., *High-Performance Large-Scale Image Recognition Without Normalization*, ICML 2021.
- Chowdhery et al., *PaLM: Scaling Language Modeling with Pathways*, 2022 (spikes, restart and skipped batches).
"""

CAUSE = Cause(
    id="grad-clip-missing",
    title="no gradient clipping",
    group="optimisation",
    check="log the norm that clip_grad_norm_ returns: single steps far above the median",
    prior="occasional",
    predicts={
        "gradients-clipped": "never",
        "spike-at-rate-change": "rarely",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "loss-spike": "usually",
        "exploding-gradients": "usually",
        "huge-updates": "often",
        "divergence": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-weight": "sometimes",
        "val-spike": "sometimes",
        "plateau": "sometimes",
        "oscillation": "rarely",
        "slow-convergence": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "rarely",
        "underfitting": "rarely",
        "loss-at-chance": "never",
        "dead-units": "sometimes",
        "flat-from-start": "never",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
        "scaling-cures": "rarely",
    },
    look_alikes={
        "corrupt-samples": "the same samples stand behind every spike; cliffs hit ordinary batches",
        "exploding-gradients": "the gradient norm is high or growing all the time, not at isolated steps",
        "lr-too-high": "updates are huge at ordinary gradient norms, and the loss is restless between spikes too",
        "optimizer-recreated": "the spikes come at every epoch start or resume, like clockwork",
    },
    fixes=("clip-gradients", "resume-from-checkpoint", "add-warmup", "lower-lr"),
    line=("backward",),
    do_not=(
        "clip before looking at the batches behind the largest norms: corrupt data gives the same picture",
        "expect clipping to cure a NaN: a NaN norm makes every gradient NaN",
        "clip scaled gradients under AMP: unscale them first",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "three isolated spikes of the gradient norm, the loss follows and recovers",
            present=("loss-spike", "exploding-gradients"),
            absent=("oscillation", "high-initial-loss", "nonfinite-loss", "plateau", "divergence", "slow-convergence"),
            within=4,
        ),
        Case("healthy", "norms between 0.5 and 2 throughout", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "steady overshoot: huge updates at ordinary gradient norms",
            present=("huge-updates", "oscillation"),
            absent=("exploding-gradients", "loss-spike"),
            expects="lr-too-high",
        ),
        Case("missing", "one spike, no gradient norm in the log", present=("loss-spike",)),
    ),
)
