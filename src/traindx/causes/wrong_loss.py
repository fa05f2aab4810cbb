"""Cause: the loss does not measure the task."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Loss and metric tell different stories. The loss falls and accuracy, F1 or recall does not move; or the loss stops at a
constant predictor's value; or predictions are all alike although training looks calm.

## Why it happens
Every loss assumes a kind of output and a kind of target. A mismatch rarely raises an error:

- one label per sample with `BCEWithLogitsLoss` over K outputs: "all zeros" is right K-1 times out of K;
- several labels per sample with `CrossEntropyLoss`: the softmax lets only one be true;
- counts, prices or times with plain MSE: a few large targets decide everything;
- regression with cross-entropy, or accuracy reported for a regression;
- Dice or IoU alone on masks with empty images: undefined or stuck at 1 - 1/K;
- a leftover debug line that optimises one term of a sum, or weights that let one term drown the rest;
- softmax with `BCELoss`, sigmoid with `NLLLoss`: see the pages of those pairs.

This page is the general case. The special ones have their own pages: `softmax-before-cross-entropy`, `double-sigmoid`,
`nll-without-log-softmax`, `mse-for-classification`, `softmax-wrong-dim`.

## How to tell it from its look-alikes
traindx compares loss and metric where both are logged. A loss that falls while the metric stays at chance points here,
to
`labels-misaligned` on validation, or to a metric computed wrongly. Overfitting one batch of eight separates them: with
the
right loss the metric on those eight must reach its maximum. If the loss goes to its minimum and the metric does not,
the
loss measures something else. A log alone cannot name the loss; its first value often can: ln K for cross-entropy,
0.693 for binary, the target variance for MSE.

| task | outputs | loss | first loss |
|---|---|---|---|
| one of K classes | K logits | `CrossEntropyLoss` | ln K |
| yes/no, or many labels | 1 or K logits | `BCEWithLogitsLoss` | 0.693 |
| real number, standardised | linear | `MSELoss`, `HuberLoss` | about 1 |
| counts | log rate | `PoissonNLLLoss` | depends |

## How to fix it
1. Pick the row of the table that is your task; change loss, output layer and metric together.
2. With several terms, log each one, bring their gradients to one order of magnitude, then weight them.
3. Prove it by overfitting one batch.

## What NOT to do
- Do not tune hyper-parameters while loss and metric disagree: you would optimise the wrong number better.
- Do not swap optimizers: it is the objective that is wrong.
- Do not add the metric as a second loss on top: remove the mismatch instead.

## References
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, section 6.2 (output units and costs).
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (verify the loss at initialisation, overfit one batch).
- Humbatova et al., *Taxonomy of Real Faults in Deep Learning Systems*, ICSE 2020 (wrong loss function).
"""

CAUSE = Cause(
    id="wrong-loss",
    title="loss that does not match the task",
    group="loss and output",
    check="overfit eight samples: loss at its minimum but the metric is not, if so",
    prior="rare",
    predicts={
        "labels-out-of-range": "sometimes",
        "nan-from-growth": "sometimes",
        "nonfinite-gradient": "sometimes",
        "classes-regressed": "sometimes",
        "targets-no-distribution": "often",
        "codes-out-of-range": "never",
        "prediction-collapse": "often",
        "plateau": "often",
        "underfitting": "often",
        "loss-at-chance": "sometimes",
        "flat-from-start": "sometimes",
        "val-at-chance": "sometimes",
        "slow-convergence": "sometimes",
        "negative-loss": "sometimes",
        "high-initial-loss": "sometimes",
        "suspiciously-good": "sometimes",
        "overfitting-gap": "rarely",
        "oscillation": "never",
        "divergence": "rarely",
        "loss-spike": "rarely",
        "nonfinite-loss": "rarely",
        "exploding-gradients": "rarely",
        "vanishing-gradients": "never",
        "dead-units": "never",
        "saturated-units": "rarely",
        "no-gradient": "never",
        "unchanged-weights": "never",
    },
    look_alikes={
        "labels-misaligned": "one batch can be memorised with a perfect metric; with a wrong loss the metric stays "
        "behind",
        "class-imbalance": "reweighting the same loss moves the metric at once",
        "softmax-before-cross-entropy": "the floor has the exact value ln(e + K - 1) - 1",
        "model-too-small": "loss and metric agree with each other and improve with width",
    },
    fixes=("match-loss-to-task",),
    line=("loss-built",),
    do_not=(
        "tune hyper-parameters: diagnose first, a better optimum of the wrong objective is still wrong",
        "swap the optimizer: it is rarely the issue and here it optimises the wrong number",
        "add the metric as an extra loss term: remove the mismatch instead",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "per-class BCE on one-of-100 labels: loss 0.05, every output says no, score at chance",
            present=("prediction-collapse", "plateau", "suspiciously-good", "val-at-chance"),
            absent=(
                "nonfinite-loss",
                "exploding-gradients",
                "dead-units",
                "saturated-units",
                "no-gradient",
                "unchanged-weights",
                "overfitting-gap",
                "val-noisy",
            ),
            within=6,
        ),
        Case("healthy", "loss and metric improve together", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "a constant prediction at the target variance, and the output said so with a size warning",
            present=("loss-at-chance", "prediction-collapse", "plateau", "underfitting"),
            absent=("negative-loss", "suspiciously-good", "high-initial-loss"),
            expects="loss-shape-broadcast",
        ),
        Case("missing", "only underfitting", present=("underfitting",)),
    ),
    log_visible=False,
    needs="the loss function with one batch of outputs and targets, or the result of overfitting one batch",
)
