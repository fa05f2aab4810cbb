"""Cause: the initial weights are too large."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A first loss far above chance, confident and wrong: 616 instead of 2.30 for std-1 weights in a small ReLU network on
the 8×8 digits, 16.7 instead of about 4.6 for a small language model. Then a slow descent that spends its time
unlearning the start. Where it ends, validation is much worse than train (5.4 against 23 in that example, with 83 %
accuracy). Under plain SGD the first steps explode, and the network may die at chance.

## Why it happens
A layer multiplies the variance of its input by fan_in × std² (half of that for ReLU). With fan-in 128 and std 1 that
is a factor of 64 per layer in variance, 8 in size. Logits in the hundreds make cross-entropy enormous. Large weights
also move little *in relation* to their size: Adam's step of 1e-3 was 1.5e-4 of the weights, so the random start stays
in the solution. Usual slips: `torch.randn(n, m)` without scaling, `normal_(std=1)`, an embedding's default N(0, 1)
tied to the output layer, a gain applied twice.

## How to tell it from its look-alikes
The first loss tells, before any update. It should be ln(classes), or the variance of the targets. It does not change
with the batch size: that would be `loss-sum-reduction`. Standardised inputs do not bring it down: that would be
`inputs-not-normalized`. "Weights between 0.01 and 0.1" is a rule for some widths only: traindx compares the spread of
each layer with 1 / sqrt(fan_in), and activations from layer to layer. Pretrained models on a new task also start
high, once, because the head is new.

## How to fix it
1. `default-init`: Kaiming or Xavier; std 0.02 for transformers, residual projections divided by sqrt(2 × layers).
2. `add-warmup` and `clip-gradients`, if the start has to survive as it is.
3. `normalisation-layers`: they cancel the scale of the layers before them.

## What NOT to do
- Do not lower the rate first: the start takes even longer to unlearn.
- Do not raise the rate either: gradients are large, and plain SGD kills the units.
- Do not mistake the fast first drop for progress: the model is only unlearning its bad initial outputs.

## References
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
- He et al., *Delving Deep into Rectifiers*, ICCV 2015.
- Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019 (scaled residual initialisation).
- Chizat, Oyallon and Bach, *On Lazy Training in Differentiable Programming*, NeurIPS 2019.
"""

CAUSE = Cause(
    id="init-too-large",
    title="initial weights too large",
    group="initialisation",
    check="print loss and output range before the first update: outputs should be of order 1",
    prior="rare",
    predicts={
        "nan-from-growth": "sometimes",
        "nan-from-division": "sometimes",
        "nan-from-log": "sometimes",
        "nonfinite-inputs": "never",
        "initial-weights-large": "always",
        "initial-weights-small": "never",
        "equal-initial-weights": "never",
        "high-initial-loss": "always",
        "slow-convergence": "often",
        "saturated-units": "often",
        "tiny-updates": "often",
        "exploding-gradients": "often",
        "plateau": "sometimes",
        "overfitting-gap": "sometimes",
        "underfitting": "sometimes",
        "still-improving": "often",
        "loss-spike": "sometimes",
        "divergence": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-activation": "sometimes",
        "dead-units": "sometimes",
        "vanishing-gradients": "sometimes",
        "huge-updates": "sometimes",
        "loss-at-chance": "sometimes",
        "flat-from-start": "rarely",
        "oscillation": "rarely",
        "val-noisy": "rarely",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "signal-fades": "rarely",
        "signal-grows": "often",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
        "scaling-cures": "never",
    },
    look_alikes={
        "loss-sum-reduction": "the first loss doubles with the batch size; here it does not change",
        "inputs-not-normalized": "standardising one batch brings the first loss to chance; here it stays high",
        "targets-not-normalized": "a squared error with targets in the hundreds; outputs themselves are ordinary",
        "lr-too-high": "the first loss is at chance and the trouble comes with the updates",
    },
    fixes=("default-init", "add-warmup", "clip-gradients", "normalisation-layers"),
    line=("random-weights",),
    do_not=(
        "lower the rate first: the wrong start takes even longer to unlearn",
        "raise the learning rate to speed things up: gradients are already large",
        "mistake the first fast drop for progress: the model is only unlearning its bad initial outputs",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "first loss 16 for ten classes, saturated tanh layers, tiny relative updates, slow",
            present=("high-initial-loss", "saturated-units", "tiny-updates", "slow-convergence"),
            absent=("divergence", "nonfinite-loss", "huge-updates", "plateau", "unchanged-weights"),
            within=3,
        ),
        Case("healthy", "first loss at ln(classes)", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "flat at chance with shrinking activations and constant outputs",
            present=("flat-from-start", "loss-at-chance", "vanishing-gradients", "prediction-collapse"),
            absent=("high-initial-loss", "saturated-units"),
            expects="vanishing-gradients",
        ),
        Case("missing", "a large first loss, nothing from inside", present=("high-initial-loss",)),
    ),
)
