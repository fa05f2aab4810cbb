"""Cause: the learning rate is too low."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A smooth, calm curve that falls in a straight line and is nowhere near done when the run ends. Train and validation
lie on top of each other. If the rate is far too low the loss looks flat: Adam at 1e-6 moved it from 2.312 to 2.303 in
20 epochs on the 8×8 digits, where 1e-3 reached 0.02. Gradients are healthy all the while, which is what separates
this from a network that is not connected.

## Why it happens
Each step covers a distance of about lr (Adam, per weight) or lr × gradient norm (SGD). Below an update-to-weight
ratio of 1e-5 a weight needs a hundred thousand steps in one direction to change by its own size. Usual reasons in
code: an SGD run with Adam's 1e-3 or 1e-4; a fine-tuning rate for training from scratch; a rate scaled down for a
batch that is not that small; a warm-up longer than the run; a parameter group that overrides `lr`.

## How to tell it from its look-alikes
The update-to-weight ratio of *every* layer is below 1e-4 and the gradient norm is ordinary. In the example above the
median ratio was 9e-6 with a gradient norm of 0.56. Vanishing gradients hit the early layers only. Frozen or
unregistered layers change by exactly nothing. A schedule that has died shows a *fast* beginning. `too-few-epochs`
moves at a healthy ratio and simply stops. A plateau with healthy gradients is not proof, although it is often read
that way: a rate that is too high circles at a floor with the same gradient norm, and there the ratio is above 1e-3.

## How to fix it
1. `raise-lr` by 3 to 10, then again while the loss stays calm. The old advice of 10 to 100 at once skips the useful
   range.
2. `lr-range-test`: read the rate from a curve instead of guessing.
3. `scale-lr-with-batch` if the batch or the number of GPUs changed since the rate was tuned.
4. `add-momentum` when the optimizer is plain SGD.

## What NOT to do
- Do not simply add epochs: ten times the rate costs nothing, ten times the epochs costs ten times the money.
- Do not enlarge the model: it learns just as slowly, and costs more.
- Do not raise the rate while some layers get no gradient: nothing reaches them at any rate.
- Do not switch the optimizer to repair a number.

## References
- Smith, *A Disciplined Approach to Neural Network Hyper-Parameters: Part 1*, 2018.
- Karpathy, *A Recipe for Training Neural Networks*, 2019.
- Bengio, *Practical Recommendations for Gradient-Based Training of Deep Architectures*, 2012.
"""

CAUSE = Cause(
    id="lr-too-low",
    title="learning rate too low",
    group="learning rate",
    check="train 200 steps at ten times the learning rate: the loss falls faster if so",
    prior="common",
    predicts={
        "outcome-poor": "sometimes",
        "lr-below-usual": "often",
        "lr-above-usual": "never",
        "dead-units": "rarely",
        "straight-path": "usually",
        "weights-at-start": "rarely",
        "adapter-at-zero": "never",
        "slow-convergence": "usually",
        "tiny-updates": "usually",
        "still-improving": "often",
        "underfitting": "often",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "val-at-chance": "sometimes",
        "plateau": "rarely",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "high-initial-loss": "rarely",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "prediction-collapse": "sometimes",
        "overfitting-gap": "never",
        "val-left-behind": "never",
        "divergence": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-activation": "never",
        "nonfinite-weight": "never",
        "huge-updates": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-not-learned": "never",
        "batch-diverges": "never",
        "lr-above-stable": "never",
        "batch-barely-moves": "usually",
        "lr-below-useful": "usually",
        "scaling-cures": "never",
    },
    look_alikes={
        "vanishing-gradients": "only the early layers move too little; with a low rate every layer does",
        "too-few-epochs": "the update ratio is healthy and the curve steep, the run just ends",
        "lr-decayed-too-early": "the beginning is fast and the logged rate falls to nothing",
        "grad-clip-too-tight": "nearly every gradient is longer than the clipping threshold",
        "low-precision-update-lost": "fp16 or bf16 weights swallow updates that would be large enough in fp32",
        "frozen-params": "frozen weights do not change by a single bit",
    },
    fixes=("raise-lr", "lr-range-test", "scale-lr-with-batch", "add-momentum"),
    line=("setting lr",),
    do_not=(
        "just add epochs: a rate ten times higher costs nothing, ten times the epochs cost ten times the money",
        "enlarge the model: it would crawl as well",
        "multiply the rate by 100 at once: the range between too low and too high is often narrower than that",
        "raise the rate while parameters receive no gradient: no rate helps those",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a straight, slow descent with updates below 1e-5 of the weights in every layer",
            present=("slow-convergence", "still-improving", "tiny-updates"),
            absent=(
                "vanishing-gradients",
                "unchanged-weights",
                "no-gradient",
                "lr-schedule-anomaly",
                "oscillation",
                "plateau",
            ),
        ),
        Case("healthy", "fell fast and settled", absent=(*CALM_CURVES, *CALM_INSIDE, "still-improving")),
        Case(
            "look-alike",
            "the rate fell to nothing in the first epoch",
            present=("lr-schedule-anomaly", "plateau", "tiny-updates"),
            absent=("flat-from-start", "still-improving", "huge-updates"),
            expects="lr-decayed-too-early",
        ),
        Case("missing", "a loss that ends while falling, nothing else", present=("still-improving",)),
    ),
)
