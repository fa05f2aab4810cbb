"""Cause: the learning rate never decays."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A good start, then a plateau with a constant band of noise. Validation jumps up and down from epoch to epoch by about
as much as it still improves. The gradient norm is far from zero: the training is busy and goes nowhere. The logged
learning rate is one straight line.

## Why it happens
Gradient noise keeps the weights circling around a minimum at a distance proportional to lr / batch size. They only
come closer when that ratio shrinks. Measured on the 8×8 digits with batches of 4: a constant rate of 0.02 ended at a
train loss of 0.16, still jumping between 0.08 and 0.16; a cosine to zero from the same rate ended at 0.0004,
validation at 0.09 instead of 0.15. A plain script without a scheduler is the usual reason, a scheduler that is built
but never stepped the second.

## How to tell it from its look-alikes
The floor moves with the rate: halve it for a few hundred steps and the loss drops at once. A capacity limit
(`model-too-small`) or a data limit does not react. Here train and validation hover together; in `overfitting` the
train loss goes on falling. In `lr-decayed-too-early` the band is narrow and updates are tiny; here they are 1e-3 or
more. True local minima are rare in high dimensions and saddle points are passed in time; noise is the commonest
reason for a plateau. A gradient norm "near zero" on a plateau is the exception that points elsewhere: to convergence,
saturation or dead units.

## How to fix it
1. `add-lr-decay`: cosine or linear to zero over the planned run.
2. `reduce-on-plateau` when the length of the run is open.
3. `increase-batch`: doubling the batch acts like halving the rate (Smith et al. 2018).
4. `ensemble-models`: an average of the last weights removes the noise without touching the schedule.
5. `cyclical-lr` only when decay has been tried and the floor stays.

## What NOT to do
- Do not raise the rate to "escape a local minimum": the circle only gets wider.
- Do not enlarge the model before one short test with a tenth of the rate.
- Do not decay by a little every few epochs because it feels safe: early decay freezes a bad solution.
- Do not stop the run at the plateau: the last decay is where a good part of the final quality comes from.

## References
- Smith, Kindermans, Ying and Le, *Don't Decay the Learning Rate, Increase the Batch Size*, ICLR 2018.
- Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts*, ICLR 2017.
- He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016 (the step drops in the training curves).
- PyTorch documentation, *torch.optim: how to adjust learning rate*.
"""

CAUSE = Cause(
    id="lr-decay-missing",
    title="learning rate never decays",
    group="learning rate",
    check="continue the last checkpoint at a tenth of the rate: the loss drops at once if so",
    prior="common",
    predicts={
        "constant-rate": "usually",
        "lr-above-usual": "rarely",
        "small-gradient-norm": "never",
        "spike-at-rate-change": "rarely",
        "straight-path": "never",
        "plateau": "usually",
        "oscillation": "sometimes",
        "val-noisy": "often",
        "val-spike": "sometimes",
        "loss-spike": "sometimes",
        "huge-updates": "sometimes",
        "underfitting": "sometimes",
        "slow-convergence": "sometimes",
        "overfitting-gap": "rarely",
        "still-improving": "rarely",
        "tiny-updates": "never",
        "vanishing-gradients": "never",
        "loss-at-chance": "never",
        "prediction-collapse": "rarely",
        "high-initial-loss": "rarely",
        "flat-from-start": "never",
        "val-at-chance": "never",
        "nonfinite-loss": "never",
        "nonfinite-gradient": "never",
        "nonfinite-weight": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "model-too-small": "a capacity floor does not move when the rate is cut by ten; a noise floor drops at once",
        "lr-decayed-too-early": "the rate is already near zero and updates are tiny; here they stay large",
        "batch-too-small": "both make the same noise floor; decay is missing when the batch is ordinary (16 or more)",
        "overfitting": "the train loss keeps falling while validation worsens; here both hover",
    },
    fixes=("add-lr-decay", "reduce-on-plateau", "increase-batch", "ensemble-models", "cyclical-lr"),
    line=("optimizer",),
    do_not=(
        "raise the rate to escape a local minimum: on a noise floor the swings only get wider",
        "enlarge the model before a short test with a tenth of the rate: only a capacity limit would stay",
        "stop at the plateau: much of the final quality comes with the last decay",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "constant rate, both curves hover in a band, validation scatters",
            present=("plateau", "val-noisy"),
            absent=(
                "overfitting-gap", "underfitting", "loss-at-chance", "flat-from-start", "lr-schedule-anomaly",
                "divergence",
                "nonfinite-loss", "still-improving", "suspiciously-good", "high-initial-loss",
            ),
            within=4,
        ),
        Case("healthy", "a cosine to zero and a smooth end", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "train keeps falling while validation gets worse",
            present=("overfitting-gap",),
            absent=("plateau", "flat-from-start", "underfitting"),
            expects="overfitting",
        ),
        Case("missing", "a plateau and nothing else", present=("plateau",)),
    ),
)  # fmt: skip
