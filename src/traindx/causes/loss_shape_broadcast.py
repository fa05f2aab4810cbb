"""Cause: prediction and target have different shapes and are broadcast."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A regression that learns the mean and nothing else. The loss falls to the variance of the targets, about 1.0 when they
are standardised, and stays. All predictions drift to one value. No error, only a warning in the output that scrolled
away.

## Why it happens
The model returns (N, 1), the target is (N). Subtracting them broadcasts to (N, N): every prediction is compared with
every target. The mean of that matrix is

    mean over i, j of (p_i - y_j)² = var(y) + mean((p_i - mean(y))²)

Its minimum is p_i = mean(y) for every sample, with the loss at var(y). The link between a sample and its own target is
gone. The optimizer does its job perfectly.

`mse_loss`, `l1_loss`, `smooth_l1_loss` and `huber_loss` broadcast with a warning: "Using a target size
(torch.Size([64])) that is different to the input size (torch.Size([64, 1]))". Hand-written losses such as `((p - y) **
2).mean()` broadcast in silence. `BCEWithLogitsLoss` refuses, `CrossEntropyLoss` reads the shapes differently.

Measured on standardised diabetes targets: 0.979 in the first epoch, 0.970 in the last; 0.49 after squeezing the output.

The same happens in metrics: an accuracy from (N, 1) == (N) is a mean over N² comparisons and equals the product of the
class shares. It happens in reinforcement learning between values and returns, and in per-sample weights.

## How to tell it from its look-alikes
`loss-at-chance` at exactly the target variance with `prediction-collapse`, while gradients are healthy. If the output
holds the warning, it is proof; traindx looks for it in text logs. Shuffled labels end at the same value, but one small
batch can still be memorised; with broadcasting not even two samples can. A dead output also gives a constant, usually
zero instead of the mean.

## How to fix it
1. Make both shapes equal before the loss, and assert it.
2. Turn the warning into an error for the whole project.

## What NOT to do
- Do not silence the warning: it is the only message you get.
- Do not enlarge the model or add features: the loss ignores them by construction.
- Do not unsqueeze blindly until it runs: print both shapes once.

## References
- PyTorch documentation, *Broadcasting semantics* and *torch.nn.MSELoss*.
- Harris et al., *Array Programming with NumPy*, Nature 2020 (broadcasting).
- Islam et al., *A Comprehensive Study on Deep Learning Bug Characteristics*, ESEC/FSE 2019.
"""

CAUSE = Cause(
    id="loss-shape-broadcast",
    title="prediction and target broadcast against each other",
    group="loss and output",
    check="print the shapes of prediction and target where the loss is computed: they must be equal",
    prior="occasional",
    predicts={
        "shapes-broadcast": "always",
        "loss-at-chance": "usually",
        "prediction-collapse": "always",
        "plateau": "usually",
        "underfitting": "usually",
        "flat-from-start": "often",
        "tiny-updates": "sometimes",
        "slow-convergence": "rarely",
        "high-initial-loss": "rarely",
        "overfitting-gap": "never",
        "val-at-chance": "never",
        "dead-units": "never",
        "saturated-units": "never",
        "vanishing-gradients": "never",
        "exploding-gradients": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "batch-not-learned": "usually",
    },
    look_alikes={
        "labels-misaligned": "a batch of eight can be memorised there; with broadcasting not even two samples can",
        "relu-on-output": "the constant prediction is zero, not the mean of the targets",
        "class-imbalance": "a classifier predicts its majority class; here a regression predicts the mean",
        "lr-too-low": "the loss still falls and predictions still differ from sample to sample",
    },
    fixes=("match-shapes",),
    line=("broadcast",),
    do_not=(
        "silence the size warning: it is the only message there is",
        "enlarge the model or add features: this loss cannot see them",
        "train longer: the target variance is the exact minimum of the broadcast loss",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "loss 0.97 on standardised targets from start to end, one prediction for all samples",
            present=("loss-at-chance", "prediction-collapse", "plateau", "underfitting"),
            absent=(
                "dead-units",
                "saturated-units",
                "vanishing-gradients",
                "no-gradient",
                "unchanged-weights",
                "overfitting-gap",
                "nonfinite-loss",
            ),
            within=2,
        ),
        Case("healthy", "the loss falls well below the target variance", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train memorises, validation stays at the target variance and predictions vary",
            present=("val-at-chance", "overfitting-gap"),
            absent=("prediction-collapse", "underfitting", "plateau"),
            expects="labels-misaligned",
        ),
        Case("missing", "only a loss at chance", present=("loss-at-chance",)),
    ),
)
