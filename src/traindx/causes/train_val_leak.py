"""Cause: information from validation reaches training."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Validation is too good: as good as train or better, without the usual gap, and far above what the task allows. The score
collapses on a fresh test set or in production.

## Why it happens
The same information stands on both sides of the split:

- identical or near-identical samples: rows drawn with replacement, augmented or oversampled copies made *before* the
  split,
  frames of one video, slices of one patient, sentences of one document. 3.3 % of the CIFAR-10 and 10 % of the CIFAR-100
  test
  images have a near-duplicate in the training set (Barz and Denzler 2020);
- a feature that encodes the answer: an id, a file name, a later measurement, a target-encoded column;
- scalers, imputers, vocabularies or feature selection fitted on all data;
- time: validation from the middle of the period, training from both ends;
- choosing checkpoints, thresholds and hyper-parameters on the set that is then reported.

Measured: validation rows drawn from the training rows gave 100 % validation accuracy and loss 0.017, the untouched test
set 70 %.

Kapoor and Narayanan (2023) found leakage in 17 fields, affecting 294 papers. Assume it until excluded.

## How to tell it from its look-alikes
`suspiciously-good` with an absent `overfitting-gap`. Some innocent reasons put validation below train: dropout and
augmentation act on train only, the train loss is averaged over an epoch in which the model was still worse, or
validation is easier. These make a small, constant difference; a leak makes validation follow train to zero. In language
models a missing causal mask or unshifted targets make *train* too good as well. A log can raise the suspicion; only the
data proves it.

```python
import hashlib
digest = lambda t: hashlib.sha1(t.contiguous().numpy().tobytes()).hexdigest()
seen = {digest(x) for x, _ in train_set}
print(sum(digest(x) in seen for x, _ in val_set), "exact copies in validation")
```

## How to fix it
1. Split first, then augment, oversample, scale and select. Fit on train, apply to validation.
2. Split by group (patient, user, document) or by time where samples are related.
3. Remove duplicates, near ones by embedding distance or perceptual hash.
4. Keep one test set that nobody looks at before the end.

## What NOT to do
- Do not ship on this score: it says nothing about new data.
- Do not repair it by adding regularisation: the measurement is broken, not the model.
- Do not re-split at random when samples are related: the copies land on both sides again.

## References
- Kaufman, Rosset and Perlich, *Leakage in Data Mining: Formulation, Detection, and Avoidance*, ACM TKDD 2012.
- Kapoor and Narayanan, *Leakage and the Reproducibility Crisis in Machine-Learning-Based Science*, Patterns 2023.
- Barz and Denzler, *Do We Train on Test Data? Purging CIFAR of Near-Duplicates*, Journal of Imaging 2020.
"""

CAUSE = Cause(
    id="train-val-leak",
    title="leak between training and validation",
    group="data",
    check="count samples of the validation set that are in the training set too",
    prior="occasional",
    predicts={
        "validation-seen-in-training": "always",
        "val-inputs-differ": "never",
        "suspiciously-good": "usually",
        "overfitting-gap": "never",
        "val-left-behind": "never",
        "val-at-chance": "never",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "underfitting": "rarely",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "double-descent": "never",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "prediction-collapse": "never",
        "still-improving": "sometimes",
    },
    look_alikes={
        "healthy": "dropout and epoch averaging put validation a little below train; a leak takes it to zero with train",  # noqa: E501
        "causal-mask-missing": "train itself is too good for the model; in a leak train is ordinary",
        "target-not-shifted": "train and validation reach almost zero within a few hundred steps",
        "class-imbalance": "a high accuracy that is the majority share and does not move",
    },
    fixes=("split-without-leak", "fit-preprocessing-on-train"),
    line=("leak",),
    do_not=(
        "ship or publish this score: it says nothing about new data",
        "add regularisation: the measurement is broken, not the model",
        "re-split related samples at random: the copies land on both sides again",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "validation accuracy 1.0 and loss 0.017 beside train, no gap at any time",
            present=("suspiciously-good",),
            absent=(
                "overfitting-gap",
                "val-noisy",
                "val-spike",
                "val-at-chance",
                "plateau",
                "prediction-collapse",
                "loss-at-chance",
                "underfitting",
            ),
            within=2,
        ),
        Case("healthy", "validation stays a little behind train", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "loss close to zero, and every output is the pad token",
            present=("suspiciously-good", "prediction-collapse", "plateau"),
            absent=("overfitting-gap",),
            expects="padding-not-masked",
        ),
        Case("missing", "no validation was logged", present=("still-improving",)),
    ),
)
