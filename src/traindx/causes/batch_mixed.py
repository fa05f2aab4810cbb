"""Cause: the model mixes the samples of a batch."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A loss that falls slowly, stops early or stays near chance, and predictions that change with the batch a sample happens
to be in. With a batch of one at inference the model behaves unlike in training. No error is raised: all shapes fit.

## Why it happens
Somewhere the batch dimension is taken for another one. The usual places:

- `nn.LSTM`, `nn.GRU`, `nn.MultiheadAttention` and `nn.TransformerEncoder` expect (time, batch, features) unless
  `batch_first=True` is set. Given (batch, time, features), they run or attend over the samples.
- `x.view(…)` or `reshape` after a permute that was meant, or instead of it: the numbers keep their order in memory, and
  features of one sample land in another.
- A softmax, mean or norm over `dim=0` inside the model.

Each sample then sees the others. What it needs from itself is diluted, and the neighbours are noise.

## How to tell it from its look-alikes
Exchange one sample of a batch in evaluation mode and compare the outputs of the others: they must not change at all.
`traindx sanity train.py` does that. Batch norm does it in training mode by design and not in evaluation mode. In
`softmax-wrong-dim` the mixing is in the last step only. In `labels-misaligned` samples are independent and only their
labels are not theirs.

## How to fix it
1. `keep-batch-dimension`: set `batch_first=True`, replace `view` by `permute` or `transpose` where axes are to be
   swapped, and
   name the axis of every softmax, mean and norm.

## What NOT to do
- Do not train with a batch of one to hide it: it is slow, and batch norm stops working.
- Do not tune the learning rate: no rate makes the neighbours informative.
- Do not enlarge the model: it would only learn to look away from them.

## References
- PyTorch documentation, *torch.nn.LSTM* and *torch.nn.Transformer* (`batch_first`), *torch.Tensor.view*.
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (use backprop to chart dependencies).
"""

CAUSE = Cause(
    id="batch-mixed",
    title="samples of a batch are mixed",
    group="wiring",
    check="in eval mode, exchange one sample of a batch: the outputs of the others must not change",
    prior="rare",
    predicts={
        "samples-mixed": "always",
        "underfitting": "often",
        "plateau": "often",
        "slow-convergence": "often",
        "loss-at-chance": "sometimes",
        "flat-from-start": "sometimes",
        "val-noisy": "sometimes",
        "val-at-chance": "sometimes",
        "prediction-collapse": "sometimes",
        "batch-not-learned": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "exploding-gradients": "never",
        "no-gradient": "never",
        "negative-loss": "never",
        "unchanged-weights": "never",
        "dead-units": "never",
        "softmax-over-wrong-dim": "never",
    },
    look_alikes={
        "softmax-wrong-dim": "only the last normalisation runs over the batch, and the loss moves with ln(batch size)",
        "labels-misaligned": "exchanging a sample leaves the outputs of all others as they were",
        "model-too-small": "exchanging a sample leaves the outputs of all others as they were",
    },
    fixes=("keep-batch-dimension",),
    line=("symptom",),
    do_not=(
        "train with a batch of one to hide it: it is slow, and batch norm stops working",
        "tune the learning rate: no rate makes the neighbours informative",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "an LSTM without batch_first that is given the batch first",
            present=("samples-mixed", "plateau", "underfitting"),
            absent=("nonfinite-loss", "no-gradient", "exploding-gradients"),
        ),
        Case(
            "healthy",
            "samples are independent and the loss falls",
            absent=(*CALM_CURVES, *CALM_INSIDE, "samples-mixed"),
        ),
        Case(
            "look-alike",
            "a softmax over the batch in front of the loss",
            present=("softmax-over-wrong-dim", "plateau", "high-initial-loss"),
            absent=("samples-mixed",),
            expects="softmax-wrong-dim",
        ),
        Case("missing", "a plateau, nothing from inside", present=("plateau",)),
    ),
    log_visible=False,
    needs="a probe of the model (traindx sanity train.py)",
)
