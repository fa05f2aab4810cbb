"""Cause: every update is trained on the same batch."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The training loss falls smoothly, without the noise of batches, and soon reaches almost nothing. Validation stays at
chance or gets worse from the first evaluation on. With more data nothing improves.

## Why it happens
The loop draws a batch at every update, and it is the same one. Three ways lead there. A seed is set inside the loop, so
that `randint`, `randperm` or a shuffling loader draw what they drew before. The iterator is made anew at each step with
`next(iter(loader))`: without shuffling it begins at the first sample every time. An index does not move: `data[:64]`,
or a counter that nobody increases. The model then learns a few samples by heart, and all others are never used.

## How to tell it from its look-alikes
Overfitting takes all the data and too large a model: its training loss is that of an epoch, and validation first
improves, then turns. Here validation hardly improves at all, and the training loss has no batch noise. Data that are
not shuffled are all seen, in their order, and the loss has a saw-tooth with the period of an epoch. A training set that
is mirrored in the validation set looks good on both. The proof costs a minute: print the sum of the inputs at each of
ten steps.

## How to fix it
1. `draw-new-batches`: seed once before the loop, go through the loader with `for`, let the index move.
2. `shuffle-data`: each pass in another order.

## What NOT to do
- Do not add dropout or weight decay: the model memorises because it is shown nothing else.
- Do not collect more data: those that are there are not used.
- Do not take the low training loss for progress: it is the loss on a single batch.

## References
- PyTorch documentation, *torch.utils.data.DataLoader* (each `iter()` begins a new pass) and *Reproducibility*.
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (overfitting a single batch, as a test and on purpose).
"""

CAUSE = Cause(
    id="same-batch-forever",
    title="every update sees the same batch",
    group="data",
    check="print the sample indices of three batches in a row: they must differ",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "same-batch-repeated": "always",
        "overfitting-gap": "often",
        "val-at-chance": "often",
        "val-left-behind": "often",
        "suspiciously-good": "sometimes",
        "underfitting": "rarely",
        "flat-from-start": "rarely",
        "loss-at-chance": "rarely",
        "oscillation": "rarely",
        "divergence": "rarely",
        "val-noisy": "rarely",
        "nonfinite-loss": "rarely",
        "data-in-order": "rarely",
        "validation-seen-in-training": "rarely",
    },
    look_alikes={
        "overfitting": "many different batches are seen and validation improves first; here it is one batch",
        "not-shuffled": "all data are seen, in their stored order; here the same few samples come at every update",
        "train-val-leak": "validation is good as well; here it is bad from the start",
        "train-val-label-mismatch": "validation labels mean something else; here training never left one batch",
    },
    fixes=("draw-new-batches", "shuffle-data"),
    line=("repeated-batch",),
    do_not=(
        "add dropout or weight decay: the model is shown nothing else than this batch",
        "collect more data: those that are there are not used",
        "take the low training loss for progress: it is the loss on one batch",
    ),
    log_visible=False,
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a seed inside the loop: the loss of one batch falls to nothing, validation is at chance",
            present=("same-batch-repeated", "overfitting-gap", "val-at-chance"),
            absent=("divergence", "nonfinite-loss", "flat-from-start"),
        ),
        Case("fires", "nothing but the recording shows it", present=("same-batch-repeated",)),
        Case("healthy", "other batches at every update", absent=(*CALM_CURVES, *CALM_INSIDE, "same-batch-repeated")),
        Case(
            "look-alike",
            "validation turns while all data are seen",
            present=("overfitting-gap",),
            absent=("same-batch-repeated", "val-at-chance"),
            expects="overfitting",
        ),
        Case("missing", "a gap in a log", present=("overfitting-gap",)),
    ),
)
