"""Cause: the same class has different numbers in training and validation."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Train learns well. Validation accuracy is at or *below* chance and validation loss climbs far above ln(classes), higher
the better the model gets. The confusion matrix of validation is nearly a permutation: each class is called by one wrong
name.

## Why it happens
The label table was built twice. Examples:

- `LabelEncoder.fit_transform` on each split; classes that are missing in one split shift all later numbers;
- `ImageFolder` on two directories with different or differently spelled subfolders (it sorts the names it finds);
- `set()` or dictionary order used as the table: string hashing differs between processes;
- a detection config whose class list was reordered after the training labels were written;
- labels from 0 in one file and from 1 in the other;
- pandas category codes computed per frame.

A model that is sure of its answer pays -ln(p) for a wrong name. At 99 % confidence spread over nine others that is
about 6.8 nats per sample, three times chance level for ten classes. A network that knows nothing would do better.

## How to tell it from its look-alikes
Above-chance loss with below-chance accuracy on validation only: the model knows the answer and the key is wrong. With
other
*inputs* (`val-preprocessing-mismatch`) answers are confused, accuracy is around chance, seldom systematically below.
`overfitting` never falls below chance. If train is below chance too, look at `loss-sign-flipped`. traindx weighs
`val-at-chance` with an early and growing gap; from a curve alone it can not separate this page from the preprocessing
one, and
says so. The confusion matrix can.

```python
for prediction_class in range(num_classes):
    names = torch.bincount(y_val[predictions == prediction_class], minlength=num_classes)
    print(prediction_class, "->", names.argmax().item(), f"{names.max() / names.sum().clamp(min=1):.0%}")
```
Lines with a high share and two different numbers give the permutation.

## How to fix it
1. Build the table once, from training, sorted; save it; load it everywhere.
2. Raise an error for an unknown class instead of giving it a new number.
3. If training was right, nothing needs retraining: fix the validation table and evaluate again.

## What NOT to do
- Do not retrain before looking at the confusion matrix: the model may be perfect.
- Do not early-stop on this curve: it selects the worst model.
- Do not add regularisation: less confidence lowers the loss and hides the permutation.

## References
- scikit-learn documentation, *sklearn.preprocessing.LabelEncoder* (fit on training, transform elsewhere).
- torchvision documentation, *datasets.ImageFolder* (`class_to_idx`).
- Breck et al., *The ML Test Score: A Rubric for ML Production Readiness*, IEEE Big Data 2017.
"""

CAUSE = Cause(
    id="train-val-label-mismatch",
    title="different label tables in training and validation",
    group="data",
    check="print the class-to-number table of training and of validation: they must be equal",
    prior="rare",
    predicts={
        "val-labels-differ": "always",
        "val-inputs-differ": "never",
        "val-at-chance": "usually",
        "overfitting-gap": "usually",
        "val-left-behind": "often",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "underfitting": "never",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "loss-spike": "rarely",
        "divergence": "never",
        "high-initial-loss": "rarely",
        "nonfinite-loss": "never",
        "prediction-collapse": "never",
        "suspiciously-good": "never",
        "double-descent": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "exploding-gradients": "never",
    },
    look_alikes={
        "val-preprocessing-mismatch": "training samples through the validation transform score badly; here they score "
        "well",
        "overfitting": "validation accuracy stays far above chance",
        "label-encoding-wrong": "the coding is wrong in both splits, so train suffers as well",
        "loss-sign-flipped": "train is below chance too",
    },
    fixes=("share-label-map", "check-label-alignment"),
    line=("held-out-prepared",),
    do_not=(
        "retrain before looking at the confusion matrix: the model may be perfect",
        "early-stop on this validation loss: it selects the worst model",
        "add regularisation: less confidence lowers the loss and hides the permutation",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "train at 98 %, validation below chance with a loss that climbs from the first epoch on, calm and steady",
            present=("val-at-chance", "overfitting-gap"),
            absent=(
                "underfitting",
                "loss-at-chance",
                "plateau",
                "val-noisy",
                "val-spike",
                "prediction-collapse",
                "flat-from-start",
            ),
            within=4,
        ),
        Case("healthy", "validation accuracy follows train", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "validation turns after ten good epochs and stays far above chance",
            present=("overfitting-gap",),
            absent=("val-at-chance",),
            expects="overfitting",
        ),
        Case("missing", "no validation was logged", absent=("flat-from-start",)),
    ),
    log_visible=False,
    needs="the confusion matrix of validation, or the two label tables",
)
