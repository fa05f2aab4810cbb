"""Cause: NaN or Inf in the inputs or targets."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
NaN out of a clear sky. The steps before look perfect: no growth of the gradient norm, no spike. From the first NaN on
everything stays NaN, since the update has poisoned the weights. The same sample order fails at the same step again.

## Why it happens
One NaN in a batch is enough. It passes through every layer, the mean over the batch is NaN, every gradient is NaN, and
one optimizer step writes NaN into all weights. Sources:

- empty CSV cells, sensor gaps, masked pixels stored as NaN, failed decodes;
- a feature with zero variance that was divided by its standard deviation;
- log or square root of zero or negative values in the preprocessing, division by a missing total;
- augmentation: resizing or normalising an empty crop or a silent audio clip;
- integer overflow or a wrong dtype while reading binary files.

NaN-aware statistics (`nanmean`, pandas' defaults) hide the holes: the scaler is fitted without complaint and the rows
keep their NaN.

Among some 22 resolved public "loss is NaN" threads about 23 % were bad data or labels, second only to half precision
with about 45 %, and ahead of the learning rate with 18 %. Check the data before touching the rate.

## How to tell it from its look-alikes
The first place decides. traindx records where the first non-finite number stood: at the input, this is the cause, and
the batch is known. In `fp16-overflow` the input is finite, a large activation is not, and the loss scale falls first.
In `lr-too-high` and `exploding-gradients` the gradient norm grows for some steps before. In `log-of-zero` inputs and
outputs are finite and the loss is not. A log can only say that there was no run-up, and at which step; a NaN within the
first epoch at an arbitrary step speaks for data.

```python
for i, (x, y) in enumerate(loader):
    if not (torch.isfinite(x).all() and torch.isfinite(y.float()).all()):
        print("batch", i, "samples", (~torch.isfinite(x.flatten(1)).all(1)).nonzero().flatten().tolist())
```

## How to fix it
1. Scan the whole dataset once and drop or repair the rows. Fit scalers afterwards.
2. Impute with the training median, plus an indicator column, when a hole carries meaning.
3. Guard the loop: skip a non-finite batch, count it, and stop if there are many.
4. Resume from a checkpoint before the first NaN. Weights that hold NaN are lost.

## What NOT to do
- Do not lower the learning rate first: NaN times any rate is NaN.
- Do not rely on gradient clipping: the norm is NaN, so clipping spreads it to every parameter.
- Do not replace NaN by 0 in the loss: the bad rows stay and the metrics lie.

## References
- Breck et al., *Data Validation for Machine Learning*, MLSys 2019.
- PyTorch documentation, *torch.nn.utils.clip_grad_norm_* (`error_if_nonfinite`).
- Little and Rubin, *Statistical Analysis with Missing Data*, 2019.
"""

CAUSE = Cause(
    id="nan-in-data",
    title="NaN or Inf in the data",
    group="data",
    check="run torch.isfinite(x).all() on every batch of one pass over the data",
    prior="occasional",
    predicts={
        "nonfinite-inputs": "always",
        "nan-from-log": "never",
        "nan-from-division": "never",
        "nan-from-half-overflow": "never",
        "nan-from-growth": "never",
        "nonfinite-loss": "always",
        "nonfinite-activation": "always",
        "nonfinite-gradient": "usually",
        "nonfinite-weight": "usually",
        "truncated": "sometimes",
        "loss-spike": "rarely",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "divergence": "rarely",
        "oscillation": "never",
        "loss-scale-collapse": "sometimes",
        "flat-from-start": "sometimes",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "underfitting": "rarely",
        "high-initial-loss": "rarely",
        "loss-at-chance": "rarely",
        "overfitting-gap": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "suspiciously-good": "never",
        "saturated-units": "never",
    },
    look_alikes={
        "fp16-overflow": "the inputs are finite and the loss scale falls before the NaN",
        "log-of-zero": "inputs and outputs are finite, only the loss or its gradient is not",
        "lr-too-high": "the gradient norm and the loss grow for some steps before the NaN",
        "corrupt-samples": "wild but finite values: a spike that recovers instead of NaN",
    },
    fixes=("drop-bad-samples", "resume-from-checkpoint", "skip-bad-batches"),
    line=("nonfinite", "missing-values", "input-origin"),
    do_not=(
        "lower the learning rate first: for NaN, precision and data together are about two thirds of the causes",
        "rely on gradient clipping: a NaN norm turns every gradient into NaN",
        "replace NaN by zero inside the loss: the bad rows stay and the metrics lie",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a calm run turns NaN at step 812, the first bad tensor is the input, precision is fp32",
            present=("nonfinite-loss", "nonfinite-activation", "nonfinite-gradient", "nonfinite-weight"),
            absent=(
                "loss-spike",
                "exploding-gradients",
                "divergence",
                "loss-scale-collapse",
                "huge-updates",
                "oscillation",
            ),
            within=2,
        ),
        Case("healthy", "all numbers finite to the end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the AMP scale falls to nothing, then NaN",
            present=("nonfinite-loss", "loss-scale-collapse", "nonfinite-gradient"),
            absent=("nonfinite-weight",),
            expects="fp16-overflow",
        ),
        Case("missing", "only that the loss was NaN", present=("nonfinite-loss",)),
    ),
)
