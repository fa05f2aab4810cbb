"""Cause: one class is so common that always predicting it pays."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
High accuracy that never moves, 0.98 from the first epoch on, equal to the share of the majority class. Recall, F1 or
IoU of the rare class is 0. The loss drops fast to a small number and rests there.

## Why it happens
The cheapest first step is to learn the label frequencies. With a share q of positives that gives the loss

    H(q) = -q ln q - (1-q) ln(1-q)

which is 0.693 at q = 0.5, 0.325 at 0.1, 0.098 at 0.02 and 0.056 at 0.01. From there on the many easy samples dominate:
the rare class supplies 2 % of the terms and, once the bias is set, most of the remaining gradient noise.

Measured with 2 % positives, real but noisy signal, 600 Adam steps: loss 0.092 (H = 0.098), accuracy 0.980, recall 0.0
at a threshold of 0.5. The ranking was already useful: it is often the threshold that is wrong, not the model.

Dense tasks are the extreme case. In detection background outnumbers objects by 1000 to 1 (Lin et al. 2017), in
segmentation an organ may fill one voxel in 10 000, and "all background" is a deep trough.

## How to tell it from its look-alikes
Accuracy equal to the majority share and a loss at H(q): traindx computes both when class counts are known, and calls it
`loss-at-chance` of the constant predictor together with `prediction-collapse`. With shuffled labels the loss sits there
too, but then AUC is 0.5; under imbalance AUC rises above it. A dead network predicts one class as well, with zero
gradients. Detection with no labels found also gives mAP 0: check that there are any targets.

Look at metrics that do not reward the majority: AUC-PR, F1, balanced accuracy, per-class recall.

## How to fix it
1. Choose the decision threshold on validation. Free, and often enough.
2. Weight the loss by inverse frequency, or with `pos_weight`; start mild (square root) and watch precision.
3. Sample batches more evenly; combine with augmentation of the rare class.
4. Start the output bias at the log-odds of the prior: it removes the first, useless phase.
5. In dense tasks use focal loss, or Dice plus cross-entropy.

## What NOT to do
- Do not report accuracy: the constant predictor has 98 % of it.
- Do not oversample before splitting: copies of one sample end up on both sides.
- Do not rebalance validation: it must keep the real frequencies.
- Do not weight by 1/q when q is 0.001: gradients of single samples explode and probabilities lose calibration.

## References
- Buda, Maki and Mazurowski, *A Systematic Study of the Class Imbalance Problem in Convolutional Neural Networks*, 2018.
- Lin et al., *Focal Loss for Dense Object Detection*, ICCV 2017.
- Cui et al., *Class-Balanced Loss Based on Effective Number of Samples*, CVPR 2019.
- He and Garcia, *Learning from Imbalanced Data*, IEEE TKDE 2009.
"""

CAUSE = Cause(
    id="class-imbalance",
    title="class imbalance",
    group="data",
    check="count the labels, and the predictions, per class",
    prior="occasional",
    predicts={
        "rare-classes-missed": "always",
        "labels-imbalanced": "usually",
        "prediction-collapse": "usually",
        "loss-at-chance": "often",
        "plateau": "often",
        "underfitting": "sometimes",
        "val-at-chance": "often",
        "val-noisy": "sometimes",
        "suspiciously-good": "sometimes",
        "loss-spike": "sometimes",
        "slow-convergence": "sometimes",
        "oscillation": "sometimes",
        "overfitting-gap": "sometimes",
        "val-left-behind": "sometimes",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "divergence": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "vanishing-gradients": "sometimes",
        "exploding-gradients": "never",
        "dead-units": "never",
        "saturated-units": "never",
        "tiny-updates": "never",
        "batch-not-learned": "never",
    },
    look_alikes={
        "labels-misaligned": "the ranking is useless too: AUC stays at 0.5, under imbalance it rises",
        "dead-relu": "one class only as well, but hidden units are off and gradients zero",
        "label-encoding-wrong": "some class codes do not exist or are out of range; here all are valid",
        "loss-shape-broadcast": "a regression that predicts the mean; here a classifier predicts its majority",
    },
    fixes=("tune-threshold", "weight-classes", "set-output-bias", "balanced-sampling", "get-more-data"),
    do_not=(
        "report accuracy: the constant predictor has it too",
        "oversample before splitting: copies of one sample land on both sides",
        "rebalance the validation split: it must keep the real frequencies",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "accuracy 0.98 from epoch one, loss at the label entropy, rare class never predicted, network alive",
            present=("prediction-collapse", "loss-at-chance", "val-at-chance", "plateau"),
            absent=(
                "dead-units",
                "no-gradient",
                "unchanged-weights",
                "flat-from-start",
                "exploding-gradients",
                "high-initial-loss",
                "negative-loss",
                "underfitting",
            ),
            within=4,
        ),
        Case("healthy", "all classes are predicted and the score rises", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "one class only, and most hidden units are off for good",
            present=("prediction-collapse", "dead-units", "loss-at-chance"),
            absent=("val-noisy",),
            expects="dead-relu",
        ),
        Case("missing", "only noisy validation", present=("val-noisy",)),
    ),
)
