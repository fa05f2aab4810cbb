"""Cause: the loss is summed over the batch."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A first loss that is far too large and strangely round: about batch size × chance level. With 10 classes and batches
of 64 that is 64 × 2.303 = 147. The gradient norm is larger by the same factor. The last, smaller batch of every epoch
logs a visibly smaller loss. Train and validation disagree by a factor when their batch sizes do. Plain SGD diverges
or dies at once; Adam trains as if nothing were wrong.

## Why it happens
`reduction="sum"`, or a hand-written `.sum()` over samples, tokens or pixels, makes loss and gradient proportional to
how many there are. A rate of 0.1 then acts like 6.4. On the 8×8 digits, SGD with momentum at 0.1 averaged 70 000 over
its first epoch and then stayed at 2.6 per sample, all units dead; at 0.001 the same loss trained perfectly. Adam
divides the factor out: 0.021 per sample, exactly like the mean. Weight decay and clipping thresholds shift too: a
clip of 1.0 now cuts every step.

## How to tell it from its look-alikes
Divide the first loss by the batch size, then by batch × length: if the quotient is ln(classes), or the variance of
the targets, the case is clear. A large initialisation gives an arbitrary number that does not change with the batch
size. Unscaled targets give a large loss under a *squared* error and an ordinary one per sample elsewhere.
`accumulation-not-scaled` is off by the accumulation factor. Doubling the batch is the test: only a sum doubles.

## How to fix it
1. `use-mean-reduction`, and divide by the number of valid tokens where padding is masked.
2. `clip-gradients` with a threshold chosen for the new scale.
3. `lower-lr` by the batch size, if the sum must stay.

## What NOT to do
- Do not tune the rate to the sum: the next change of batch size breaks it again.
- Do not compare such losses between runs, or with published values.
- Do not take the large first value for a bad initialisation before dividing it.

## References
- PyTorch documentation, *torch.nn.CrossEntropyLoss* and *torch.nn.MSELoss*: the `reduction` argument.
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017 (normalise the per-worker loss).
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (verify the loss at initialisation).
"""

CAUSE = Cause(
    id="loss-sum-reduction",
    title="loss summed instead of averaged",
    group="optimisation",
    check="double the batch: a loss that doubles is summed, not averaged",
    prior="occasional",
    predicts={
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "loss-summed": "always",
        "clipped-hard": "sometimes",
        "high-initial-loss": "always",
        "exploding-gradients": "usually",
        "huge-updates": "often",
        "divergence": "sometimes",
        "oscillation": "sometimes",
        "loss-spike": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "nonfinite-weight": "sometimes",
        "dead-units": "sometimes",
        "plateau": "sometimes",
        "loss-at-chance": "rarely",
        "flat-from-start": "rarely",
        "underfitting": "sometimes",
        "val-noisy": "sometimes",
        "slow-convergence": "rarely",
        "overfitting-gap": "rarely",
        "vanishing-gradients": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
    },
    look_alikes={
        "init-too-large": "its first loss does not change with the batch size; a sum doubles when the batch does",
        "targets-not-normalized": "a large value per sample under a squared error; a sum is ordinary per sample",
        "accumulation-not-scaled": "off by the accumulation factor instead of the batch size",
        "lr-too-high": "starts at chance level; only later values are large",
    },
    fixes=("use-mean-reduction", "clip-gradients", "lower-lr"),
    line=("reduction",),
    do_not=(
        "tune the rate to the sum: the next change of batch size breaks it again",
        "compare these losses with other runs: they carry the batch size",
        "call the large first value a bad initialisation before dividing it by the batch size",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "first loss 147 with ten classes and batches of 64, norms 64 times the usual",
            present=("high-initial-loss", "exploding-gradients"),
            absent=(
                "saturated-units",
                "vanishing-gradients",
                "tiny-updates",
                "flat-from-start",
                "slow-convergence",
                "loss-at-chance",
            ),
            within=2,
        ),
        Case("healthy", "first loss at ln(classes)", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "first loss 16 at any batch size, tanh units at their limits, tiny relative updates",
            present=("high-initial-loss", "saturated-units", "slow-convergence", "tiny-updates"),
            absent=("divergence",),
            expects="init-too-large",
        ),
        Case("missing", "a large first loss, classes and batch size unknown", present=("high-initial-loss",)),
    ),
)
