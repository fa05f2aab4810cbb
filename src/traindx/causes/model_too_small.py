"""Cause: the model lacks the capacity for the task."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Train and validation fall together, level off together at a value that is too high, and the gap between them is small.
Everything inside is healthy: gradients flow, updates are in range, the rate is alive. A lower or higher rate ends at
the same floor. Two hidden layers of four units on the 8×8 digits stop near 1.37 after 60 epochs; 128 units reach 0.02
in twenty.

## Why it happens
The function class cannot represent the solution: too few units, too few layers, a bottleneck, a kernel or context
that does not see what decides. The second reason is more frequent than size: the *inputs* lack the information
(missing features, resolution too low, target not predictable). Then no model helps, and the floor is the noise of the
data.

## How to tell it from its look-alikes
This diagnosis is claimed far more often than it is true, so it comes last. Exclude in this order: a run that is still
improving (`too-few-epochs`), regularisation that holds it down (`dropout-too-high`, `weight-decay-too-high`, strong
augmentation), optimisation (`lr-decayed-too-early`, `lr-decay-missing`), dead or frozen parts, wrong labels. The
proof has two halves. The model can memorise one batch: then the code is sound. Twice the width lowers the *train*
loss floor: then capacity was the limit. "Below 0.1" is no general target: the floor of a language model is the
entropy of text, and of a regression the variance of its noise. traindx calls it underfitting only against chance
level and the run's own progress.

## How to fix it
1. `overfit-one-batch`: two minutes that tell broken from weak.
2. `train-longer`, if the slope is not zero.
3. `lower-dropout`, `lower-weight-decay`, `weaken-augmentation`: use the capacity that is there.
4. `larger-model`: width first, then depth with residual connections.

If neither width nor data lowers the floor, stop tuning: look at what published results reach on such data, at the
labels, and at whether the task can be put differently.

## What NOT to do
- Do not enlarge the model because the loss is flat from the start: that is not learning, not lack of capacity.
- Do not add regularisation: it lowers the capacity further.
- Do not compare the floor with another data set's.

## References
- Goodfellow, Bengio and Courville, *Deep Learning*, 2016, chapter 11 (practical methodology).
- Karpathy, *A Recipe for Training Neural Networks*, 2019 (overfit first, then regularise).
- Hestness et al., *Deep Learning Scaling Is Predictable, Empirically*, 2017.
"""

CAUSE = Cause(
    id="model-too-small",
    title="model too small for the task",
    group="capacity",
    check="train a model twice as wide on the same data: its training loss ends lower if so",
    prior="occasional",
    predicts={
        "straight-path": "rarely",
        "underfitting": "always",
        "narrow-bottleneck": "often",
        "plateau": "usually",
        "slow-convergence": "sometimes",
        "still-improving": "sometimes",
        "oscillation": "rarely",
        "loss-spike": "rarely",
        "loss-at-chance": "sometimes",
        "flat-from-start": "rarely",
        "high-initial-loss": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "vanishing-gradients": "never",
        "dead-units": "never",
        "tiny-updates": "never",
        "huge-updates": "rarely",
        "prediction-collapse": "sometimes",
        "divergence": "never",
        "overfitting-gap": "never",
        "val-left-behind": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "double-descent": "never",
        "negative-loss": "never",
        "batch-not-learned": "rarely",
    },
    look_alikes={
        "dropout-too-high": "the train loss drops in eval mode; a small model stays high",
        "weight-decay-too-high": "the weight norm falls; a small model's weights grow",
        "lr-decay-missing": "a tenth of the rate lowers the floor at once",
        "labels-misaligned": "a wrong pairing of inputs and labels can be memorised for one batch but never generalises",  # noqa: E501
        "missing-nonlinearity": "any width ends at the floor of a linear model",
        "too-few-epochs": "the last fifth of the run still falls",
    },
    fixes=(
        "overfit-one-batch",
        "train-longer",
        "lower-dropout",
        "lower-weight-decay",
        "weaken-augmentation",
        "larger-model",
    ),
    do_not=(
        "enlarge the model because the loss is flat from the start: that is not learning, not lack of capacity",
        "add regularisation: it lowers the capacity further",
        "blame size before the model has memorised one batch: code and data faults look the same",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "both losses level off high and together; nothing inside is wrong",
            present=("underfitting", "plateau"),
            absent=(
                "overfitting-gap",
                "loss-at-chance",
                "flat-from-start",
                "oscillation",
                "loss-spike",
                "val-noisy",
                "divergence",
                "nonfinite-loss",
                "lr-schedule-anomaly",
                "still-improving",
                "prediction-collapse",
                "tiny-updates",
                "huge-updates",
                "dead-units",
                "vanishing-gradients",
                "unchanged-weights",
                "no-gradient",
                "slow-convergence",
            ),
            within=3,
        ),
        Case("healthy", "both losses low", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "flat at chance from the first step, gradients vanish",
            present=("flat-from-start", "loss-at-chance", "vanishing-gradients", "tiny-updates"),
            absent=("plateau", "saturated-units"),
            expects="vanishing-gradients",
        ),
        Case("missing", "a high train loss, no validation", present=("plateau",)),
    ),
)
