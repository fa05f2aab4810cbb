"""Cause: input features have the wrong scale."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A first loss far above chance, then a fall that is steep for a few steps and very slow afterwards. Gradients are large
at the start. Some runs oscillate, some go to NaN. Small learning rates are the only ones that survive, and they crawl.

## Why it happens
Default initialisations assume inputs with mean 0 and variance 1. Pixels of 0…255, prices, pressures of 300 000 Pa or
time stamps break that. The first layer's outputs, and with them the loss, scale with the input.

Features of different scale do the lasting damage. The curvature along a feature grows with its square: 3e5 beside 0.5
gives a condition number above 1e11. One learning rate must serve both: small enough for the first, it is nothing for
the second. Adam repairs the diagonal part of this, not the rest, and not the huge first loss.

An offset is as bad as a scale. Inputs that are all positive force the gradients of one unit's weights to share a sign,
and the path to the minimum becomes a zigzag (LeCun et al. 1998).

Measured on sensor data with pressure near 3e5 and humidity near 0.5: mean loss of the first epoch 1.7 million, final
1.93, against 0.30 and 0.016 after standardising. Digits fed 255 times too large began at 8.8 instead of 2.2.

## How to tell it from its look-alikes
traindx sees `high-initial-loss` with large gradients and slow progress. `targets-not-normalized` shows the same in a
regression: check which of the two has the large numbers. In classification only the inputs can do it. `init-too-large`
gives a high first loss with well-scaled inputs. `lr-too-high` starts near chance and *becomes* bad. Hidden tanh or
sigmoid units saturate at once when inputs are large, ReLU units do not.

```python
x, y = next(iter(loader))
print(x.float().mean().item(), x.float().std().item(), x.float().abs().max().item())   # want about 0, 1, below 10
```

## How to fix it
1. Standardise every feature with mean and standard deviation of the *training* split; store them with the model.
2. Heavy tails (counts, money): `log1p` first. Images: divide by 255, then the dataset's or the pretrained model's mean
   and std.
3. If the scale changes over time, put a BatchNorm or LayerNorm in front.

## What NOT to do
- Do not lower the learning rate until it is stable: the small features then learn nothing.
- Do not clip gradients as a cure: the direction is dominated by one feature as well.
- Do not compute mean and std on all data: the validation split leaks into training.
- Do not normalise each batch by itself at inference: a single sample has no statistics.

## References
- LeCun, Bottou, Orr and Müller, *Efficient BackProp*, 1998, section 4.3.
- Sola and Sevilla, *Importance of Input Data Normalization for the Application of Neural Networks to Complex Industrial
  Problems*, IEEE Transactions on Nuclear Science 1997.
- Ioffe and Szegedy, *Batch Normalization*, ICML 2015.
"""

CAUSE = Cause(
    id="inputs-not-normalized",
    title="inputs not normalised",
    group="data",
    check="print x.mean() and x.std() of one batch as the model gets it: about 0 and 1 are expected",
    prior="common",
    predicts={
        "inputs-unscaled": "always",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "high-initial-loss": "usually",
        "slow-convergence": "often",
        "plateau": "often",
        "exploding-gradients": "often",
        "underfitting": "often",
        "oscillation": "sometimes",
        "loss-spike": "sometimes",
        "divergence": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "loss-scale-collapse": "sometimes",
        "loss-at-chance": "sometimes",
        "saturated-units": "sometimes",
        "dead-units": "sometimes",
        "prediction-collapse": "sometimes",
        "huge-updates": "sometimes",
        "val-noisy": "sometimes",
        "flat-from-start": "rarely",
        "vanishing-gradients": "never",
        "overfitting-gap": "rarely",
        "suspiciously-good": "rarely",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "rarely",
        "val-at-chance": "sometimes",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
        "scaling-cures": "usually",
    },
    look_alikes={
        "targets-not-normalized": "the large numbers are in y, not in x; impossible in classification",
        "init-too-large": "the inputs have unit scale and the weights' norms are large before the first step",
        "lr-too-high": "the first loss is at chance and trouble comes with the updates",
        "val-preprocessing-mismatch": "training is fine and only validation receives another scale",
    },
    fixes=("normalise-inputs", "normalisation-layers", "lower-lr"),
    line=("input-origin",),
    do_not=(
        "lower the learning rate until it stops exploding: the small features then learn nothing",
        "add clipping first: it hides the overshoot and keeps the cause",
        "compute the statistics on all data: that leaks validation into training",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "first loss 1.7 million, steep then crawling, gradients huge",
            present=("high-initial-loss", "slow-convergence", "exploding-gradients", "plateau"),
            absent=("flat-from-start", "overfitting-gap", "no-gradient", "unchanged-weights", "negative-loss"),
            within=2,
        ),
        Case("healthy", "the first loss is at chance and falls briskly", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "a normal first loss, then swings and divergence with huge updates",
            present=("oscillation", "divergence", "huge-updates"),
            absent=("high-initial-loss", "slow-convergence"),
            expects="lr-too-high",
        ),
        Case("missing", "only a plateau", present=("plateau",)),
    ),
)
