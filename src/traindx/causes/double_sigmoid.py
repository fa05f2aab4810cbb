"""Cause: a sigmoid output goes into a loss that applies sigmoid itself."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A binary or multi-label model whose loss stops between 0.31 and 0.69 although accuracy is good. Predicted probabilities,
taken through the loss's own sigmoid, never leave 0.5 to 0.73. Recall at a threshold of 0.5 is either 1 or 0.

## Why it happens
`BCEWithLogitsLoss` applies the sigmoid. A model that ends in `torch.sigmoid` hands it numbers between 0 and 1, which
the loss reads as logits. The best it can do is 1 for positives and 0 for negatives:

- positive: -ln sigmoid(1) = 0.313
- negative: -ln(1 - sigmoid(0)) = ln 2 = 0.693

So with a share q of positives the floor is 0.313 q + 0.693 (1-q). Balanced data: 0.503. One percent positives: 0.689,
hardly below chance, and the run seems not to learn at all. Multi-label tasks with rare tags live there.

Every gradient carries the inner factor s(1-s), at most one quarter, so learning is slowed at least four times at the
start and much more once the inner sigmoid saturates.

Measured on scikit-learn's breast-cancer data, 63 % positives, floor 0.454: train loss 0.475 and validation accuracy 97
%, against 0.059 and 99 % when logits were passed.

## How to tell it from its look-alikes
Compute the floor from the class balance and compare. traindx knows the value when the balance is in the config. Inside,
the output range settles it: never below 0, never above 1, and a sigmoid module at the end. In `class-imbalance` with
logits the loss sits at the entropy of the label prior, which for rare positives is far *below* 0.69 (0.098 at 2 %).
`softmax-before-cross-entropy` has a floor that depends on K and not on the balance.

## How to fix it
1. Return logits and keep `BCEWithLogitsLoss`: it is the numerically stable form.
2. Apply the sigmoid once at prediction time, and move decision thresholds back to the new probabilities.

## What NOT to do
- Do not switch to `BCELoss` under fp16 autocast: PyTorch refuses it there, because the log underflows.
- Do not add `pos_weight` to push the loss: it moves the floor and keeps the double squashing.
- Do not tune the decision threshold around it: scores squeezed into 0.5 to 0.73 lose resolution.

## References
- PyTorch documentation, *torch.nn.BCEWithLogitsLoss*; *Automatic mixed precision*, ops that autocast rejects.
- Bishop, *Pattern Recognition and Machine Learning*, 2006, section 4.3.2.
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 6.2.2.2 (sigmoid output units).
"""

CAUSE = Cause(
    id="double-sigmoid",
    title="sigmoid applied twice",
    group="loss and output",
    check="search for sigmoid() in front of BCEWithLogitsLoss: one of the two must go",
    prior="rare",
    predicts={
        "sigmoid-as-logits": "always",
        "plateau": "usually",
        "underfitting": "usually",
        "slow-convergence": "often",
        "loss-at-chance": "sometimes",
        "saturated-units": "often",
        "vanishing-gradients": "sometimes",
        "tiny-updates": "sometimes",
        "prediction-collapse": "sometimes",
        "flat-from-start": "sometimes",
        "overfitting-gap": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "high-initial-loss": "never",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "no-gradient": "never",
        "unchanged-weights": "rarely",
        "val-at-chance": "never",
    },
    look_alikes={
        "softmax-before-cross-entropy": "its floor follows from the number of classes alone, not from their balance",
        "class-imbalance": "with plain logits the loss falls to the entropy of the label prior, far below 0.69",
        "softmax-on-single-output": "the loss is constant from the first step and all gradients are zero",
        "model-too-small": "a bigger model lowers the loss; the floor of two sigmoids does not move",
    },
    fixes=("use-bce-with-logits", "pass-logits"),
    line=("sigmoid",),
    do_not=(
        "add pos_weight: it shifts the floor and leaves the outputs squeezed",
        "tune the decision threshold: scores between 0.5 and 0.73 have lost their resolution",
        "train longer: the floor 0.313 q + 0.693 (1 - q) is the best any model can do",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "binary task, loss stops at 0.48 with 97 % accuracy, the output sigmoid saturates",
            present=("plateau", "underfitting", "saturated-units", "slow-convergence"),
            absent=(
                "overfitting-gap",
                "high-initial-loss",
                "exploding-gradients",
                "divergence",
                "nonfinite-loss",
                "loss-spike",
                "val-at-chance",
                "dead-units",
                "unchanged-weights",
            ),
            within=5,
        ),
        Case("healthy", "binary cross-entropy falls to 0.06", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss is one constant number and nothing ever changes",
            present=("flat-from-start", "unchanged-weights", "prediction-collapse", "high-initial-loss"),
            absent=("slow-convergence",),
            expects="softmax-on-single-output",
        ),
        Case("missing", "only underfitting is known", present=("underfitting",)),
    ),
)
