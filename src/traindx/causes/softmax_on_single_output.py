"""Cause: softmax over one output unit, which is always 1."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The same loss at every step, to the last digit. The same accuracy, equal to the share of positives. All gradients are
exactly zero. The loss is often absurdly high, or exactly 0.

## Why it happens
Softmax normalises over the outputs. Over one output it gives exp(z)/exp(z) = 1 whatever z is. The derivative is zero.
Nothing upstream can learn.

What the constant is depends on the loss:

- `BCELoss`: PyTorch clamps the logarithm at -100, so each negative sample costs 100. With 39 % negatives the loss reads
  39.2, and that number names the class balance;
- `CrossEntropyLoss` on a (N, 1) output: the only class is always right, the loss is exactly 0;
- MSE against 0/1 labels: the share of negatives.

The usual story is a model moved from two output units to one, or from a multi-class tutorial to a yes/no question, with
the last line kept. `argmax` on a single column has the same effect on accuracy: it is always 0.

## How to tell it from its look-alikes
Exact repetition. A too low learning rate changes the fifth digit, a frozen network still wobbles with the batches,
because its outputs differ from sample to sample. Here the wobble comes only from the class mix of each batch, and the
epoch mean is identical. traindx reports `flat-from-start` with `prediction-collapse`; in a recording,
`unchanged-weights` and gradients of exactly zero. Weight decay may still shrink the weights: then they change and the
loss does not.

## How to fix it
1. One output: no softmax, no sigmoid, `BCEWithLogitsLoss`.
2. Or two outputs with `CrossEntropyLoss`. For two classes both are the same model.
3. Adjust the metric: `logits > 0` for one output, `argmax(dim=1)` for two.

## What NOT to do
- Do not touch the learning rate, the initialisation or the optimizer: the gradient is zero by construction.
- Do not add layers in front: the last operation discards everything they say.
- Do not read a loss of exactly 0 as success: look at the accuracy.

## References
- PyTorch documentation, *torch.nn.BCELoss* (log outputs are clamped to be at least -100).
- Bishop, *Pattern Recognition and Machine Learning*, 2006, section 4.2 (sigmoid as the two-class softmax).
- Schoop, Huang and Hartmann, *UMLAUT: Debugging Deep Learning Programs using Program Structure and Model Behavior*,
  CHI 2021.
"""

CAUSE = Cause(
    id="softmax-on-single-output",
    title="softmax over a single output",
    group="loss and output",
    check="look at the last layer: softmax over one output is always 1; sigmoid is meant",
    prior="rare",
    predicts={
        "softmax-over-one-output": "always",
        "flat-from-start": "always",
        "prediction-collapse": "always",
        "unchanged-weights": "usually",
        "vanishing-gradients": "often",
        "tiny-updates": "often",
        "high-initial-loss": "often",
        "loss-at-chance": "often",
        "underfitting": "usually",
        "no-gradient": "rarely",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "divergence": "never",
        "loss-spike": "never",
        "overfitting-gap": "never",
        "exploding-gradients": "never",
        "huge-updates": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "still-improving": "never",
        "negative-loss": "never",
        "val-noisy": "rarely",
        "suspiciously-good": "rarely",
        "batch-not-learned": "always",
    },
    look_alikes={
        "frozen-params": "outputs still differ from sample to sample and the loss wobbles around chance",
        "lr-too-low": "the loss moves in its last digits; a softmax over one unit repeats exactly",
        "dead-relu": "the output is constant because hidden units are off; here the hidden layers are alive",
        "detached-graph": "gradients are None; here they are there and exactly zero",
    },
    fixes=("sigmoid-for-one-output", "use-cross-entropy"),
    line=("softmax", "sigmoid"),
    do_not=(
        "tune the learning rate: the derivative of a constant is zero at any rate",
        "change the initialisation or add layers: the last operation discards whatever they compute",
        "take a loss of exactly 0 for success: the accuracy has not moved",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "loss 39.2019 in every epoch, one prediction for everything, gradients zero",
            present=(
                "flat-from-start",
                "prediction-collapse",
                "high-initial-loss",
                "unchanged-weights",
                "vanishing-gradients",
            ),
            absent=("no-gradient", "slow-convergence", "nonfinite-loss", "exploding-gradients", "dead-units"),
        ),
        Case("healthy", "the loss falls and both classes are predicted", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "flat, and the trainable weights get no gradient at all",
            present=("flat-from-start", "no-gradient", "unchanged-weights"),
            absent=("prediction-collapse", "high-initial-loss"),
            expects="detached-graph",
        ),
        Case("missing", "only a flat loss", present=("flat-from-start",)),
    ),
)
