"""Cause: NLLLoss receives raw scores instead of log-probabilities."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss passes through zero and keeps going down: -0.5, -50, -6000, and at last -inf or NaN. It seems to train
splendidly while accuracy stays near chance.

## Why it happens
`NLLLoss` does not take a logarithm and does not normalise. It returns minus the entry of the target class. Given raw
scores it is linear in them and has no lower bound: add 100 to every score and the loss is 100 lower. The model learns
to make everything large, without learning which is larger.

Its gradient with respect to the target score is constant, -1/N, and pushes nothing down. Weights grow at every step,
activations grow with them, and after some hundreds or thousands of steps something overflows.

Measured on ten digits with Adam at 1e-3: -0.56 in the first epoch, -458 in the eleventh, -6385 in the fortieth,
accuracy 10 %. A small CNN under SGD with momentum 0.9 went to NaN instead.

The slip comes from removing `log_softmax` from the model (because "cross-entropy does it") while the criterion still is
`NLLLoss`; or from passing probabilities instead of logs, which bounds the loss at -1 and trains poorly but never
explodes.

## How to tell it from its look-alikes
`negative-loss` for a classifier. A cross-entropy can not be negative, so either the loss function or the labels are
wrong. With `loss-sign-flipped` accuracy falls *below* chance, since the model is paid for wrong answers; here it hovers
at chance. With labels outside 0..1 a binary cross-entropy also turns negative: print the labels. Log-densities (flows,
Gaussian likelihoods) are negative for good reasons; traindx recognises such names and stays calm.

## How to fix it
1. Use `CrossEntropyLoss` on the raw scores. One line, nothing else to change.
2. Or end the model in `log_softmax(dim=1)` and keep `NLLLoss`.

## What NOT to do
- Do not clip gradients or lower the rate to keep it finite: a slower fall to minus infinity is no learning.
- Do not take the absolute value of the loss: its minimum is then at a score of zero.
- Do not use plain `softmax` in place of `log_softmax`: the loss stays between -1 and 0 and gradients stay weak.

## References
- PyTorch documentation, *torch.nn.NLLLoss*: the input is expected to contain log-probabilities of each class.
- Wardat et al., *DeepDiagnosis: Automatically Diagnosing Faults and Recommending Actionable Fixes in Deep Learning
  Programs*, ICSE 2022.
"""

CAUSE = Cause(
    id="nll-without-log-softmax",
    title="NLL loss without log-softmax",
    group="loss and output",
    check="print the outputs that go into NLLLoss: log-probabilities are never above 0",
    prior="rare",
    predicts={
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "scores-as-log-probabilities": "always",
        "negative-loss": "always",
        "nonfinite-loss": "often",
        "still-improving": "often",
        "exploding-gradients": "often",
        "nonfinite-gradient": "sometimes",
        "nonfinite-weight": "sometimes",
        "nonfinite-activation": "sometimes",
        "huge-updates": "sometimes",
        "prediction-collapse": "often",
        "val-at-chance": "sometimes",
        "loss-at-chance": "never",
        "flat-from-start": "never",
        "plateau": "never",
        "high-initial-loss": "never",
        "slow-convergence": "rarely",
        "underfitting": "rarely",
        "overfitting-gap": "rarely",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "vanishing-gradients": "never",
        "suspiciously-good": "sometimes",
    },
    look_alikes={
        "loss-sign-flipped": "accuracy falls below chance; here it hovers at chance",
        "label-encoding-wrong": "a binary cross-entropy turns negative when labels lie outside 0 to 1",
        "wrong-loss": "a bounded or differently shaped loss; only the missing logarithm is unbounded and linear",
        "healthy": "a density model or a maximised objective may be negative on purpose",
    },
    fixes=("use-cross-entropy", "add-log-softmax"),
    line=("softmax", "last-layer", "loss"),
    do_not=(
        "clip gradients to keep it finite: a slower fall to minus infinity is no learning",
        "take the absolute value of the loss: the optimum is then a score of zero",
        "read the falling loss as progress: the accuracy has not moved",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "loss -458 after ten epochs, still falling, one class predicted, then NaN",
            present=(
                "negative-loss",
                "still-improving",
                "prediction-collapse",
                "exploding-gradients",
                "nonfinite-loss",
            ),
            absent=("plateau", "flat-from-start", "high-initial-loss", "loss-at-chance"),
            within=2,
        ),
        Case("healthy", "a positive loss that falls towards zero", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the loss overflows in half precision, it was never negative",
            present=("nonfinite-loss", "loss-scale-collapse"),
            absent=("negative-loss",),
            expects="fp16-overflow",
        ),
        Case("missing", "only NaN is known", present=("nonfinite-loss",)),
    ),
)
