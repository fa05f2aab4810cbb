"""Cause: dropout removes too much of the signal."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The train loss lies well *above* validation and both stop high. Learning is slow, the train curve noisy. Training
accuracy is worse than validation accuracy from the first epoch to the last. On the 8×8 digits, 20 epochs of Adam: p =
0.5 ends at 0.16 train, 0.11 validation; p = 0.8 at 0.82 and 0.32; p = 0.95 hardly leaves chance (2.27 and 2.26).

## Why it happens
Dropout with probability p removes that share of the units and scales the rest by 1 / (1 - p). At p = 0.9 one unit in
ten speaks, ten times as loud: the gradient is mostly noise, and several layers multiply that noise. Common slips:
`keep_prob=0.9` carried over as `p=0.9`; dropout in every layer of a small network; dropout on the inputs or right
before the output; dropout plus strong augmentation plus weight decay, each tuned alone.

## How to tell it from its look-alikes
A small gap with validation below train is *normal* with dropout, since it is off in evaluation. It becomes a fault
when train is far above and both are high. The test takes one epoch: measure the train loss in `eval()` mode, or set p
to 0. If it drops sharply, dropout was the limit. If not, look at `model-too-small`, or at the data. Weight decay
keeps train and validation equal. An easier validation set also lies below train, but the eval-mode train loss then
stays high.

## How to fix it
1. `lower-dropout` to 0.1 or 0.2; none in convolutional layers that have BatchNorm.
2. `weaken-augmentation`, which adds to the same pressure.
3. `train-longer`: a moderate dropout needs two to three times the epochs.
4. `larger-model` only if p must stay: at 0.5, twice the width restores what is removed.

## What NOT to do
- Do not call validation below train a leak before measuring train in eval mode.
- Do not add capacity first: the missing half of the units is already there.
- Do not put dropout right before BatchNorm: training and evaluation then see different variances.

## References
- Srivastava et al., *Dropout: A Simple Way to Prevent Neural Networks from Overfitting*, JMLR 2014.
- Li, Chen, Hu and Yang, *Understanding the Disharmony between Dropout and Batch Normalization by Variance Shift*,
  CVPR 2019.
- PyTorch documentation, *torch.nn.Dropout* (p is the probability of being zeroed).
"""

CAUSE = Cause(
    id="dropout-too-high",
    title="dropout too high",
    group="optimisation",
    check="compare the training loss in model.eval() and model.train() on one batch",
    prior="occasional",
    predicts={
        "strong-dropout": "always",
        "dropout-drops-most": "always",
        "underfitting": "usually",
        "slow-convergence": "often",
        "plateau": "often",
        "oscillation": "sometimes",
        "still-improving": "sometimes",
        "loss-at-chance": "sometimes",
        "prediction-collapse": "sometimes",
        "flat-from-start": "sometimes",
        "high-initial-loss": "sometimes",
        "exploding-gradients": "sometimes",
        "loss-spike": "sometimes",
        "huge-updates": "sometimes",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "val-left-behind": "never",
        "nonfinite-loss": "rarely",
        "nonfinite-gradient": "rarely",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "weight-decay-too-high": "train and validation are equal; dropout puts train above validation",
        "model-too-small": "the train loss stays high in eval mode too",
        "train-val-leak": "train falls to nothing as well; with dropout it stays high",
        "healthy": "validation a little below train is the normal effect of dropout",
    },
    fixes=("lower-dropout", "weaken-augmentation", "train-longer", "larger-model"),
    line=("dropout",),
    do_not=(
        "call validation below train a leak before measuring train in eval mode",
        "add capacity first: the units are there, they are being switched off",
        "put dropout right before BatchNorm: training and evaluation then see different variances",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "both losses high, train far above validation, slow and noisy",
            present=("underfitting", "slow-convergence"),
            absent=(
                "overfitting-gap",
                "nonfinite-loss",
                "lr-schedule-anomaly",
                "tiny-updates",
                "flat-from-start",
                "still-improving",
            ),
            within=5,
        ),
        Case("healthy", "validation a little below train, both low", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "updates are tiny and the descent a slow straight line",
            present=("slow-convergence", "tiny-updates", "still-improving"),
            absent=("plateau", "oscillation"),
            expects="lr-too-low",
        ),
        Case("missing", "only the train loss is known, and it is high", present=("plateau",)),
    ),
)
