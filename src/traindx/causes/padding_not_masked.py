"""Cause: padding counts in the loss, or is attended to."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls quickly to a small value while outputs stay poor: empty, cut short, or padding to the end. Loss and
accuracy move with the batch composition, since a batch of short texts is "easy". The same sentence gets different
scores in different batches. The number changes when `max_length` changes.

## Why it happens
Batches of unequal length are filled with a pad token. Two places must ignore it: the loss and the attention.

In the loss: with a pad share f the mean loss is (1-f) times the real loss once padding is learned, which takes a few
dozen steps. At 80 % padding a real loss of 3.0 reads 0.6. The gradient of the real tokens is scaled down by the same
factor, so learning slows by 5 while the curve looks splendid.

In the attention: real tokens average over pad embeddings. BatchNorm and mean pooling over time mix padding in as well.

Two opposite errors. `pad_token = eos_token` with all pads set to -100 masks the end token too: the model never learns
to stop. And a collator that masks everything leaves no target: cross-entropy over zero tokens is 0/0, and PyTorch
returns NaN (Hugging Face's Trainer then prints 0.0).

## How to tell it from its look-alikes
Count. traindx needs the share of pad positions among those that carry loss. A `suspiciously-good` loss that returns to
an ordinary level when computed on real tokens is this cause; a missing causal mask stays too good.
`prediction-collapse` onto the pad id is typical. With class imbalance the majority class is a real label, not the
filler.

```python
valid = labels != -100
print(f"padding in the loss: {(labels[valid] == pad_id).float().mean():.0%}, targets per batch: {valid.sum()}")
```

## How to fix it
1. Set pad labels to -100 (`ignore_index`) and give attention its padding mask; keep the first end token as a target.
2. Average over real tokens, not over batch × length.
3. Bucket by length or pack sequences: less padding is also less waste.

## What NOT to do
- Do not compare losses between runs with different padding: the scales differ.
- Do not raise the learning rate against slow learning: the real gradient is diluted, not small.
- Do not mask the end token along with the padding: generation will not stop.

## References
- PyTorch documentation, *torch.nn.CrossEntropyLoss* (`ignore_index`) and *MultiheadAttention* (`key_padding_mask`).
- Krell et al., *Efficient Sequence Packing without Cross-contamination*, 2021.
- Hugging Face Transformers documentation, *Data collators*.
"""

CAUSE = Cause(
    id="padding-not-masked",
    title="padding not masked",
    group="wiring",
    check="print the share of pad tokens among the labels that are not -100: it must be 0",
    prior="rare",
    predicts={
        "padding-in-loss": "usually",
        "suspiciously-good": "often",
        "prediction-collapse": "often",
        "plateau": "often",
        "slow-convergence": "sometimes",
        "val-noisy": "sometimes",
        "oscillation": "sometimes",
        "underfitting": "sometimes",
        "high-initial-loss": "rarely",
        "loss-at-chance": "never",
        "flat-from-start": "never",
        "overfitting-gap": "rarely",
        "val-at-chance": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "no-gradient": "never",
        "unchanged-weights": "rarely",
        "vanishing-gradients": "sometimes",
        "tiny-updates": "sometimes",
        "negative-loss": "never",
    },
    look_alikes={
        "causal-mask-missing": "counting only real tokens brings the loss back to normal here, and not there",
        "class-imbalance": "the output collapses onto a real majority class, not onto the pad token",
        "division-by-zero": "a batch without a single target gives NaN; padding that counts gives a loss that is too "
        "low",
        "train-val-leak": "only validation is too good; padding flatters train and validation alike",
    },
    fixes=("mask-padding",),
    line=("loss-built",),
    do_not=(
        "compare the loss with a run of other sequence lengths: the padding share rescales it",
        "raise the learning rate: the real tokens' gradient is diluted by padding, not small in itself",
        "set the end token to -100 together with the padding: the model will never stop",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "loss 0.3 after one epoch and every output is padding",
            present=("suspiciously-good", "prediction-collapse", "plateau"),
            absent=("overfitting-gap", "val-at-chance", "nonfinite-loss", "loss-at-chance", "flat-from-start"),
            within=3,
        ),
        Case("healthy", "loss on real tokens falls and outputs vary", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "one real class is predicted for everything, the loss sits at the class prior's entropy",
            present=("prediction-collapse", "loss-at-chance", "plateau"),
            absent=("suspiciously-good",),
            expects="class-imbalance",
        ),
        Case("missing", "only noisy validation", present=("val-noisy",)),
    ),
    log_visible=False,
    needs="one batch: the share of padding among the positions that carry loss",
)
