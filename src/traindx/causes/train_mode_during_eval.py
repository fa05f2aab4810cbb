"""Cause: validation runs while the model is in training mode."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Validation is worse and much noisier than the calm training curve explains. Evaluate twice without training in between
and the numbers differ. Validation accuracy changes with the validation batch size or the order of its samples.

## Why it happens
`model.eval()` is missing before validation, or some function switches back too early. Two layers behave differently
then:

- dropout keeps dropping units, so each evaluation is a random subnetwork: noisy and biased to the bad side;
- BatchNorm normalises with the statistics of the validation batch. Small or class-sorted batches carry statistics that
  say which class they hold, and that wrecks the prediction.

Worse, BatchNorm in training mode also *updates* its running buffers from validation data. That is a quiet leak, and it
happens under `torch.no_grad()` too: no_grad stops gradients, not buffers.

Measured on a BatchNorm digits CNN with small class-sorted validation batches: validation accuracy 0.87 without
`eval()`,
0.98 with it, all else being equal.

## How to tell it from its look-alikes
traindx looks for `val-noisy` and `val-spike` beside a calm train loss, with validation neither at chance nor steadily
worsening. Steady worsening is `overfitting`. A constant offset without scatter is `val-preprocessing-mismatch`. A
validation set of a few dozen samples scatters too: its error bar is about sqrt(p(1-p)/n), so 0.9 ± 0.04 with 50
samples. The deciding test is cheap: evaluate the same checkpoint twice. Different numbers prove randomness in the
evaluation.

The reverse complaint, "eval() is much worse than train()", is usually about BatchNorm buffers: twelve of twelve public
threads in one sample. Tiny batches or a momentum that is too small leave the running statistics behind the weights.

## How to fix it
1. Wrap validation in `model.eval()` and `model.train()`, with `torch.inference_mode()` around it.
2. If evaluation mode is then *worse*, refresh the running statistics over the training data.
3. With training batches below about 16 per device use GroupNorm or SyncBatchNorm.

## What NOT to do
- Do not stay in training mode because the score looks better there: predictions then depend on their neighbours.
- Do not smooth the validation curve: the noise is a symptom, not a nuisance.
- Do not pick checkpoints by this curve: the best one is the luckiest draw.

## References
- Ioffe, *Batch Renormalization*, NeurIPS 2017 (the train/inference gap of small batches).
- Wu and He, *Group Normalization*, ECCV 2018.
- Gal and Ghahramani, *Dropout as a Bayesian Approximation*, ICML 2016 (when dropout at test time is wanted).
- PyTorch documentation, *torch.optim.swa_utils.update_bn*.
"""

CAUSE = Cause(
    id="train-mode-during-eval",
    title="validation run in training mode",
    group="wiring",
    check="check that model.eval() stands before validation and model.train() after it",
    prior="occasional",
    predicts={
        "evaluated-in-train-mode": "always",
        "trained-in-eval-mode": "never",
        "val-noisy": "usually",
        "val-spike": "often",
        "overfitting-gap": "sometimes",
        "val-left-behind": "sometimes",
        "val-at-chance": "rarely",
        "underfitting": "rarely",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "loss-spike": "rarely",
        "divergence": "never",
        "nonfinite-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "exploding-gradients": "never",
        "prediction-collapse": "never",
        "suspiciously-good": "never",
        "double-descent": "never",
    },
    look_alikes={
        "overfitting": "validation worsens steadily while train improves; here it scatters around a worse level",
        "val-preprocessing-mismatch": "validation is constantly bad; two evaluations of one checkpoint agree exactly",
        "eval-mode-during-training": "there the training curve changes; here it is identical to a correct run's",
        "not-shuffled": "the train loss itself saws with the epoch; here only validation scatters",
    },
    fixes=("call-model-eval", "recalibrate-batchnorm", "normalisation-layers"),
    line=("without-eval",),
    do_not=(
        "report the training-mode score: each prediction then depends on the other samples in its batch",
        "smooth the validation curve: the scatter is the evidence",
        "lower the learning rate: the training is calm, only its measurement is not",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "no model.eval(): validation jumps between 0.4 and 0.9 while train falls smoothly",
            present=("val-noisy", "val-spike"),
            absent=("oscillation", "loss-spike", "val-at-chance", "flat-from-start", "divergence", "plateau"),
            within=3,
        ),
        Case("healthy", "validation follows train closely", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "validation sits at chance from the first epoch and does not scatter",
            present=("val-at-chance", "overfitting-gap"),
            absent=("val-noisy", "val-spike"),
            expects="val-preprocessing-mismatch",
        ),
        Case("missing", "no validation was logged", absent=("oscillation",)),
    ),
)
