"""Cause: probabilities go into a loss that applies softmax itself."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Accuracy rises, slowly, and the loss hits a floor well above zero. It looks like a model that has learned the ranking
and cannot become confident. The floor depends only on the number of classes.

## Why it happens
`nn.CrossEntropyLoss` contains the softmax. If the model ends in one too, the loss sees numbers between 0 and 1 as
logits. A perfect one-hot output then scores

    loss = ln(e + K - 1) - 1

| classes K | 2 | 3 | 4 | 10 | 100 | 1000 |
|---|---|---|---|---|---|---|
| floor with softmax twice | 0.313 | 0.551 | 0.744 | 1.461 | 3.622 | 5.910 |
| chance, ln K | 0.693 | 1.099 | 1.386 | 2.303 | 4.605 | 6.908 |

The gradient passes through the inner softmax as well and is multiplied by p(1-p): as soon as the model grows sure of a
wrong class, it receives almost nothing. With many classes the whole range between chance and perfection is one nat.

Measured on scikit-learn's digits, K = 10, same network and rate: 40 epochs gave train loss 1.493 at 95.7 % validation
accuracy, against 0.064 at 96.6 % with logits. After 11 epochs it was 85 % against 94 %. After 150 epochs 1.469: the
floor is 1.461 and it never went below.

Keras has the mirror image: a softmax layer with `from_logits=True`. Applying `log_softmax` twice is harmless, since the
second changes nothing; it is the plain softmax that hurts.

## How to tell it from its look-alikes
traindx compares the plateau with the formula above, K coming from the config, the metrics or `--classes`. Agreement to
a few hundredths with accuracy above chance is nearly proof. A small model plateaus at any value. Label smoothing of 0.1
has a floor as well, about 0.50 for ten classes, and does not slow accuracy. `double-sigmoid` is the two-class sister:
its floor lies between 0.31 and 0.69 and depends on the class balance. Inside, outputs that sum to one settle it.

## How to fix it
1. Return logits; apply softmax only where probabilities are shown.
2. If the model must return log-probabilities, pair `log_softmax` with `NLLLoss`.

## What NOT to do
- Do not raise the learning rate to break the floor: it is algebra, not a plateau.
- Do not enlarge the model or add epochs: the perfect classifier has this loss.
- Do not judge the fix by the loss alone: compare accuracy and calibration, the scales differ.

## References
- PyTorch documentation, *torch.nn.CrossEntropyLoss*: the input is expected to contain unnormalised logits.
- Bridle, *Probabilistic Interpretation of Feedforward Classification Network Outputs*, 1990.
- Müller, Kornblith and Hinton, *When Does Label Smoothing Help?*, NeurIPS 2019.
"""

CAUSE = Cause(
    id="softmax-before-cross-entropy",
    title="softmax applied before cross-entropy",
    group="loss and output",
    check="search for softmax in front of CrossEntropyLoss: raw scores go in",
    prior="occasional",
    predicts={
        "probabilities-as-logits": "always",
        "plateau": "usually",
        "underfitting": "usually",
        "slow-convergence": "often",
        "vanishing-gradients": "sometimes",
        "tiny-updates": "sometimes",
        "loss-at-chance": "sometimes",
        "flat-from-start": "rarely",
        "prediction-collapse": "sometimes",
        "saturated-units": "sometimes",
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
        "double-sigmoid": "two classes with a sigmoid; its floor moves with the class balance between 0.31 and 0.69",
        "model-too-small": "its plateau has no special value and falls when the model grows",
        "softmax-wrong-dim": "its floor is ln(batch/classes) and changes with the batch size",
        "lr-too-low": "the loss is still falling; a softmax floor is flat while accuracy is high",
    },
    fixes=("pass-logits", "use-cross-entropy"),
    line=("softmax",),
    do_not=(
        "raise the learning rate: the floor ln(e + K - 1) - 1 is algebra, no optimiser passes it",
        "enlarge the model: a perfect classifier has this same loss",
        "add epochs: the loss is bounded, more steps only make the outputs harder to correct",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "ten classes, loss stuck at 1.47 with 96 % accuracy, slow on the way, gradients small, nothing spikes",
            present=("plateau", "underfitting", "slow-convergence", "vanishing-gradients"),
            absent=(
                "overfitting-gap",
                "divergence",
                "high-initial-loss",
                "nonfinite-loss",
                "loss-spike",
                "oscillation",
                "exploding-gradients",
                "huge-updates",
                "val-at-chance",
                "flat-from-start",
            ),
            within=6,
        ),
        Case("healthy", "the loss goes far below the two-softmax floor", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the plateau comes with exploding gradients and a huge first loss",
            present=("plateau", "high-initial-loss", "exploding-gradients"),
            absent=("vanishing-gradients",),
            expects="inputs-not-normalized",
        ),
        Case("missing", "only a plateau, classes unknown", present=("plateau",)),
    ),
)
