"""Cause: a denominator that can be zero."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
NaN on particular batches: the last, smaller one of an epoch, one without any positive, one with an empty mask. The
steps around it are fine. If the update is skipped, training goes on as if nothing had happened, until the next such
batch.

## Why it happens
Something was divided by a count, a spread or a length that happened to be zero:

- a masked mean with an empty mask, `loss.sum() / mask.sum()`. PyTorch's `cross_entropy` does it too: all targets equal
  to
  `ignore_index` give 0/0 = NaN. Long prompts that leave no answer token after truncation are the usual way there;
- the standard deviation of one element: `torch.randn(1).std()` is NaN, since it divides by n-1 = 0. Advantage
  normalisation
  in reinforcement learning and hand-made batch statistics meet this at the last batch;
- a constant feature, or a silent clip, divided by its own std;
- attention in which a whole row is masked: softmax over only -inf is NaN when written by hand. (PyTorch 2.13's
  `scaled_dot_product_attention` returns 0 for such a row on the CPU; older versions returned NaN.);
- IoU, Dice, F1 of empty against empty; cosine similarity of a zero vector.

A denominator of 1e-12 is no rescue: 1/1e-12 makes a gradient of 1e12. `F.normalize` on a zero vector has exactly that
gradient.

## How to tell it from its look-alikes
It is tied to the *content* of a batch, not to the state of the model: replay that batch with fresh weights and NaN
returns. With `log-of-zero` fresh weights are usually fine. With `nan-in-data` the inputs hold the NaN. With
`fp16-overflow` the same batch in fp32 is fine. The first NaN appears at the loss, or at a normalising layer inside.
`DivBackward0`, `StdBackward0` or `SoftmaxBackward0` in anomaly detection names the place. In a log: isolated NaN rows
with good ones in between (when a scaler skips the step), often at epoch ends.

## How to fix it
1. Guard the count: `sum / mask.sum().clamp(min=1)`; a batch without targets then contributes 0.
2. Put the epsilon inside the square root and scale it to the data: `sqrt(var + 1e-5)`, as the normalisation layers do.
3. Use `drop_last=True` where a batch of one breaks a statistic, `correction=0` for std where it makes sense.
4. Give a fully masked attention row one position to attend to, or drop the sample.

## What NOT to do
- Do not use an epsilon below the precision: 1e-8 is 0 in fp16 and 1e-12 still gives gradients of 1e12.
- Do not wrap the loss in `nan_to_num`: the forward value is mended, the gradient is not.
- Do not raise the batch size to make empty masks rare: rare is enough to kill a run.

## References
- PyTorch documentation, *torch.std* (`correction`), *torch.nn.CrossEntropyLoss* (`ignore_index`).
- Ba, Kiros and Hinton, *Layer Normalization*, 2016 (epsilon inside the square root).
- Higham, *Accuracy and Stability of Numerical Algorithms*, 2002.
"""

CAUSE = Cause(
    id="division-by-zero",
    title="division by zero",
    group="numerics",
    check="train 20 steps under torch.autograd.set_detect_anomaly(True): it names the operation",
    prior="rare",
    predicts={
        "nan-from-division": "always",
        "nonfinite-inputs": "sometimes",
        "nan-from-growth": "never",
        "nan-from-log": "never",
        "nan-from-half-overflow": "never",
        "nonfinite-loss": "always",
        "nonfinite-gradient": "always",
        "nonfinite-weight": "often",
        "nonfinite-activation": "often",
        "loss-spike": "sometimes",
        "exploding-gradients": "sometimes",
        "truncated": "sometimes",
        "loss-scale-collapse": "rarely",
        "divergence": "never",
        "huge-updates": "sometimes",
        "oscillation": "never",
        "high-initial-loss": "rarely",
        "flat-from-start": "sometimes",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "underfitting": "rarely",
        "loss-at-chance": "rarely",
        "overfitting-gap": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "log-of-zero": "the same batch is fine with fresh weights; a zero count fails with any weights",
        "nan-in-data": "the inputs themselves are not finite",
        "fp16-overflow": "the same batch in fp32 is fine",
        "padding-not-masked": "padding counts too much and the loss is too low; here nothing is left to count",
    },
    fixes=("guard-empty-mean", "add-epsilon", "skip-bad-batches", "resume-from-checkpoint"),
    line=("nonfinite",),
    do_not=(
        "choose an epsilon below the precision: 1e-8 is zero in fp16",
        "wrap the loss in nan_to_num: the value is mended, its gradient is not",
        "raise the batch size so that empty batches become rare: one is enough to kill a run",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a batch without targets: NaN from a normalising step on, gradient NaN, calm before",
            present=("nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weight"),
            absent=("loss-scale-collapse", "divergence", "oscillation", "exploding-gradients", "high-initial-loss"),
            within=4,
        ),
        Case("healthy", "finite to the end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "loss scale falls step by step, weights stay finite",
            present=("nonfinite-loss", "nonfinite-gradient", "loss-scale-collapse"),
            absent=("nonfinite-weight",),
            expects="fp16-overflow",
        ),
        Case("missing", "only that the loss was NaN", present=("nonfinite-loss",)),
    ),
)
