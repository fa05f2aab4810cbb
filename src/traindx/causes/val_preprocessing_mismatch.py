"""Cause: validation inputs are prepared differently from training inputs."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Train learns well. Validation is bad from the very first evaluation and stays bad: at chance, or far below train,
without the slow opening of a gap. Evaluating the *training* data through the validation pipeline gives the same bad
score.

## Why it happens
The network meets numbers it has never seen. Usual differences:

- normalised in training, raw in validation, or with other mean and std; divided by 255 twice, or not at all;
- RGB against BGR (OpenCV reads BGR), HWC against CHW, uint8 against float;
- another resize, crop or interpolation. Touvron et al. (2019) show that random-resized crops enlarge objects in
  training, so
  the apparent size differs at test time even in correct pipelines: that costs points, not everything;
- another tokenizer, vocabulary, lower-casing, prompt template or padding side;
- another sampling rate, window or hop in audio; features in another order in tables;
- fillers for missing values computed on validation itself.

Measured on digits: training inputs scaled by 255, validation not. Train loss fell to 0.0004, validation stopped at loss
2.19 and 28.6 %. A BatchNorm CNN without mean and std in validation stayed at 9.1 % from the first epoch to the last.

## How to tell it from its look-alikes
`val-at-chance` or a large constant offset from epoch one while train is calm and good. `overfitting` begins with both
curves together and parts them later. `train-val-label-mismatch` gives confident wrong answers: validation loss rises
far *above* chance as training goes on, accuracy falls below chance, and the inputs look alike. `train-mode-during-eval`
scatters. The test that decides: run training samples through the validation transform. Still bad: preprocessing. Good:
data or labels.

```python
xt, xv = next(iter(train_loader))[0], next(iter(val_loader))[0]
for x in (xt, xv):
    print(x.shape, x.dtype, x.float().mean((0, 2, 3)).tolist(), x.float().std((0, 2, 3)).tolist(), x.min().item(),
    x.max().item())
```

## How to fix it
1. Build both transforms from one function; augmentation is a prefix for training, everything deterministic is shared.
2. Store mean, std, tokenizer and feature order with the model and load them in evaluation and serving.
3. Assert the batch statistics of the first validation batch against those of training.

## What NOT to do
- Do not add regularisation or data: the model is fine on its own inputs.
- Do not fine-tune on the validation transform: the next pipeline will differ again.
- Do not switch off BatchNorm's evaluation mode because batch statistics hide the offset.

## References
- Touvron et al., *Fixing the Train-Test Resolution Discrepancy*, NeurIPS 2019.
- Parmar, Zhang and Zhu, *On Aliased Resizing and Surprising Subtleties in GAN Evaluation*, CVPR 2022.
- Sculley et al., *Hidden Technical Debt in Machine Learning Systems*, NeurIPS 2015 (training and serving skew).
"""

CAUSE = Cause(
    id="val-preprocessing-mismatch",
    title="validation preprocessed differently",
    group="data",
    check="evaluate training samples with the validation pipeline: the score should not drop",
    prior="occasional",
    predicts={
        "outcome-poor": "sometimes",
        "val-inputs-differ": "always",
        "val-labels-differ": "never",
        "val-at-chance": "usually",
        "overfitting-gap": "often",
        "val-left-behind": "sometimes",
        "val-noisy": "sometimes",
        "val-spike": "sometimes",
        "underfitting": "never",
        "flat-from-start": "never",
        "loss-at-chance": "never",
        "plateau": "rarely",
        "slow-convergence": "rarely",
        "oscillation": "never",
        "loss-spike": "rarely",
        "divergence": "never",
        "high-initial-loss": "rarely",
        "prediction-collapse": "sometimes",
        "suspiciously-good": "never",
        "double-descent": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "exploding-gradients": "never",
        "vanishing-gradients": "never",
    },
    look_alikes={
        "overfitting": "both curves fall together first and part later; here validation is bad from the first "
        "evaluation",
        "train-val-label-mismatch": "training samples through the validation transform score well; here they score "
        "badly",
        "train-mode-during-eval": "two evaluations of one checkpoint differ; here they agree",
        "labels-misaligned": "train itself only memorises slowly; here train learns fast",
    },
    fixes=("same-preprocessing",),
    line=("held-out-prepared",),
    do_not=(
        "add regularisation or data: the model is fine on the inputs it was trained with",
        "fine-tune on the validation transform: the next pipeline will differ again",
        "keep BatchNorm in training mode for validation because it hides the offset: predictions then depend on the "
        "batch",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "train loss 0.02, validation accuracy 9 % of ten classes from the first epoch to the last",
            present=("val-at-chance", "overfitting-gap"),
            absent=(
                "underfitting",
                "loss-at-chance",
                "flat-from-start",
                "plateau",
                "val-noisy",
                "suspiciously-good",
                "slow-convergence",
            ),
            within=2,
        ),
        Case("healthy", "validation follows train", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "validation improves for ten epochs and then worsens",
            present=("overfitting-gap",),
            absent=("val-at-chance", "val-noisy", "val-spike"),
            expects="overfitting",
        ),
        Case("missing", "no validation was logged", absent=("plateau",)),
    ),
)
