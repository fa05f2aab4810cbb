"""Cause: labels are encoded differently from what the loss expects."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Many faces, one root. Accuracy capped at (K-1)/K because one class is never right. A binary loss that turns negative. A
device-side assert, or "Target 10 is out of bounds". mAP and recall at exactly 0 while the loss falls. A constant
predictor.

## Why it happens
The loss expects a certain coding and receives another one:

- classes 1…K where 0…K-1 is expected: the last class is out of range, or a spare output hides it;
- -1/+1 labels in a binary cross-entropy. `BCEWithLogitsLoss` does not check: with target 2 and logit 5 it returns
  -4.99, and
  the loss has no lower bound. `BCELoss` refuses targets outside 0…1;
- 0/255 masks read as class numbers, or masks changed by interpolated resizing: classes appear that do not exist;
- one-hot vectors where indices are expected: `argmax` over the wrong axis makes every label 0 or 1;
- strings encoded separately per file, so "cat" is 0 here and 1 there;
- `ignore_index` equal to a real class: that class is silently never trained;
- detection files with absolute instead of relative boxes, or a class list shorter than the ids in the files.

## How to tell it from its look-alikes
Counting labels takes one minute and decides it. traindx compares label range and number of classes when a batch or the
config is known; from curves it weighs a `negative-loss` in classification, a `loss-at-chance` plateau above zero and
crashes with an index error in the log. `labels-misaligned` has a perfect histogram and wrong pairs.
`train-val-label-mismatch` is this fault in one split only. `class-imbalance` has valid codes with unequal counts. In
`nll-without-log-softmax` the loss falls without end as well, but the labels are in order.

```python
labels = torch.cat([y.flatten() for _, y in loader])
print(labels.dtype, labels.min().item(), labels.max().item(), labels.long().unique(return_counts=True))
```

## How to fix it
1. Map labels once to 0…K-1 with a table that is saved beside the model and used by every split.
2. Resize masks with nearest neighbour. Assert `0 <= label < K` in the dataset.
3. After the change, check the first loss: it must be near ln K.

## What NOT to do
- Do not add a spare output class to stop the assert: one class stays unreachable and the codes stay shifted.
- Do not run with `CUDA_LAUNCH_BLOCKING=1` as a cure: it only shows where the assert is.
- Do not take the absolute value of a negative loss: labels outside 0…1 are the cause.

## References
- PyTorch documentation, *torch.nn.CrossEntropyLoss* (class indices in [0, C)) and *BCEWithLogitsLoss*.
- Islam et al., *A Comprehensive Study on Deep Learning Bug Characteristics*, ESEC/FSE 2019 (data bugs first).
- Ultralytics documentation, *Object detection datasets* (label format).
"""

CAUSE = Cause(
    id="label-encoding-wrong",
    title="labels in the wrong encoding",
    group="data",
    check="print y.min(), y.max() and y.dtype of one batch beside the number of outputs",
    prior="occasional",
    predicts={
        "one-label-only": "often",
        "labels-out-of-range": "often",
        "codes-out-of-range": "often",
        "loss-at-chance": "often",
        "plateau": "often",
        "underfitting": "often",
        "prediction-collapse": "often",
        "negative-loss": "sometimes",
        "flat-from-start": "sometimes",
        "high-initial-loss": "sometimes",
        "val-at-chance": "sometimes",
        "truncated": "sometimes",
        "nonfinite-loss": "rarely",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "slow-convergence": "sometimes",
        "oscillation": "never",
        "loss-spike": "rarely",
        "suspiciously-good": "sometimes",
        "vanishing-gradients": "never",
        "exploding-gradients": "rarely",
        "tiny-updates": "never",
        "dead-units": "never",
        "saturated-units": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
    },
    look_alikes={
        "labels-misaligned": "the histogram of labels is right and the pairs are wrong",
        "train-val-label-mismatch": "only one split is coded differently: train learns, validation is below chance",
        "class-imbalance": "all codes are valid, their counts differ",
        "nll-without-log-softmax": "labels are in range and the loss still falls without end",
    },
    fixes=("fix-label-encoding",),
    line=("symptom", "target"),
    do_not=(
        "add a spare output to stop an index error: the codes stay shifted and one class stays unreachable",
        "take the absolute value of a negative loss: labels outside 0 to 1 cause it",
        "tune the learning rate while the labels are unchecked: data faults outnumber it",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "labels 1 and 2 in a binary loss: it turns negative, one answer for everything, stuck score",
            present=("negative-loss", "prediction-collapse", "val-at-chance"),
            absent=(
                "no-gradient",
                "unchanged-weights",
                "exploding-gradients",
                "divergence",
                "vanishing-gradients",
                "nonfinite-loss",
                "loss-spike",
            ),
            within=4,
        ),
        Case("healthy", "the first loss is ln K and every class is predicted", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train learns to the end, validation sits at chance",
            present=("val-at-chance",),
            absent=("loss-at-chance", "underfitting", "plateau", "prediction-collapse", "negative-loss"),
            expects="val-preprocessing-mismatch",
        ),
        Case("missing", "only a plateau", present=("plateau",)),
    ),
)
