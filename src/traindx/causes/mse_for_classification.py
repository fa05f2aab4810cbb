"""Cause: a squared error is used where classes are to be told apart."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A small loss that seems good (0.09, 0.01) beside poor accuracy, or slow progress that stalls. With the class number as
target: predictions between the classes and a loss near the variance of the labels.

## Why it happens
Three variants, from harmless to fatal.

Squared error on linear outputs against one-hot targets works. Hui and Belkin (2021) match cross-entropy with it on many
tasks after rescaling. On ten digits it reached 97.1 %, cross-entropy 96.6 %.

Squared error after a softmax or sigmoid carries the factor p(1-p). A confidently wrong sample has p near 0 or 1 and
receives almost no gradient: exactly the samples that matter most. Training starts slowly and bad outputs get stuck.

Squared error against the class *number* invents an order. Class 7 becomes "closer" to 8 than to 1. The optimum is the
mean label, 4.5 for ten classes, and the constant predictor's loss is the variance (K²-1)/12 = 8.25.

The scale confuses too. With one-hot targets and a mean over all entries, chance is (1/K)(1-1/K): 0.09 for ten classes
and
0.00099 for a thousand. A loss of 0.05 is no success.

## How to tell it from its look-alikes
A log gives it away only through the value: a first loss at (K-1)/K² or (K²-1)/12 when K is known. traindx needs the
name of the loss, or one batch of outputs and targets, to be sure. `softmax-before-cross-entropy` starts at ln K.
`loss-shape-broadcast` ends at the target variance as well, but with a real regression target and a warning in the
output. A model that is too small improves with width; a saturated squared error does not.

## How to fix it
1. Use `CrossEntropyLoss` on logits with integer labels. Gradients are then p - y, never damped.
2. For yes/no targets use `BCEWithLogitsLoss`.
3. If the classes are really ordered (ratings, stages), keep a regression or an ordinal loss, and say so.

## What NOT to do
- Do not compare the two losses by number: 0.05 squared error and 0.05 nats are different worlds.
- Do not raise the learning rate against the slow start: saturated samples stay saturated.
- Do not regress on class numbers and round: the order is invented.

## References
- Hui and Belkin, *Evaluation of Neural Architectures Trained with Square Loss vs Cross-Entropy in Classification
  Tasks*,
  ICLR 2021.
- Golik, Doetsch and Ney, *Cross-Entropy vs. Squared Error Training: a Theoretical and Experimental Comparison*,
  Interspeech 2013.
- Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural Networks*, AISTATS 2010.
"""

CAUSE = Cause(
    id="mse-for-classification",
    title="squared error used for classification",
    group="loss and output",
    check="look at the loss function: classes want cross-entropy",
    prior="rare",
    predicts={
        "classes-regressed": "always",
        "slow-convergence": "often",
        "plateau": "often",
        "underfitting": "often",
        "loss-at-chance": "sometimes",
        "prediction-collapse": "often",
        "saturated-units": "often",
        "vanishing-gradients": "sometimes",
        "tiny-updates": "sometimes",
        "flat-from-start": "sometimes",
        "overfitting-gap": "rarely",
        "oscillation": "rarely",
        "divergence": "sometimes",
        "loss-spike": "rarely",
        "high-initial-loss": "rarely",
        "exploding-gradients": "rarely",
        "nonfinite-loss": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "rarely",
        "suspiciously-good": "never",
        "val-at-chance": "never",
    },
    look_alikes={
        "softmax-before-cross-entropy": "its first loss is ln K; a squared error starts near (K - 1)/K²",
        "loss-shape-broadcast": "a regression that ends at the target variance with a size warning in the output",
        "vanishing-gradients": "gradients shrink from layer to layer; here the damping sits in the last one",
        "model-too-small": "width helps there; a confidently wrong sample stays stuck here",
    },
    fixes=("use-cross-entropy", "use-bce-with-logits", "match-loss-to-task"),
    line=("loss-built",),
    do_not=(
        "compare losses by number: 0.05 of squared error on one-hot targets is close to chance",
        "raise the learning rate: saturated wrong answers receive almost no gradient at any rate",
        "regress on class numbers and round: the order between classes is invented",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "sigmoid and squared error: slow, stalled, outputs saturated and mostly one class",
            present=("slow-convergence", "plateau", "underfitting", "saturated-units", "prediction-collapse"),
            absent=(
                "overfitting-gap",
                "exploding-gradients",
                "nonfinite-loss",
                "high-initial-loss",
                "divergence",
                "unchanged-weights",
                "dead-units",
                "loss-spike",
            ),
            within=6,
        ),
        Case("healthy", "accuracy and loss improve together", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "gradients shrink by a factor each layer towards the input",
            present=("vanishing-gradients", "slow-convergence", "tiny-updates"),
            absent=("prediction-collapse",),
            expects="vanishing-gradients",
        ),
        Case("missing", "only slow progress", present=("slow-convergence",)),
    ),
    log_visible=False,
    needs="the loss function, or one batch of outputs and targets",
)
