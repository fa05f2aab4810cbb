"""Cause: regression targets have a scale the output cannot reach quickly."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
A regression with a first loss in the thousands or billions. SGD goes to NaN at rates that are normal elsewhere. Adam
survives and then crawls for thousands of steps, the loss falling by a steady amount: the output bias is walking towards
the mean of the targets.

## Why it happens
A fresh network predicts about 0 with a spread of about 1. Targets of 150 ± 77 give a mean squared error near 28 000 and
gradients around 300. With plain SGD the stable rate shrinks accordingly.

Adam's step is about the learning rate, whatever the gradient. At 1e-3 an output bias needs some 150 000 steps to reach
150 on its own; the network reaches it faster only by inflating its weights, which spoils the initialisation.

Several targets of different scale share a loss: the largest decides, the others are ignored. Weight decay pulls towards
a mean of 0 that is wrong. Half precision overflows: an error above 256 squares to more than 65 504, the largest fp16
number.

## How to tell it from its look-alikes
The first loss equals mean(y²): traindx compares it with the target statistics if the config or a batch gives them. With
unscaled *inputs* the first loss exceeds mean(y²), because the predictions are large too. `lr-too-high` diverges from a
normal first loss. Once the mean is learned, the run may rest at the target variance for long (`loss-at-chance`): a
standardised target would have started there. In classification this cause cannot occur.

Judge by scale-free numbers: R² = 1 - MSE/var(y). A loss of 3000 with var(y) = 5900 is R² 0.49, quite respectable for
the diabetes data, and the very same model as a loss of 0.51 on standardised targets.

## How to fix it
1. Standardise the targets with the training split's mean and std; undo it for reports.
2. Skewed positive targets: predict the logarithm.
3. If scaling is impossible, start the output bias at mean(y): the long walk disappears.

## What NOT to do
- Do not read the size of the loss as failure: divide by the variance first.
- Do not lower the learning rate until SGD survives: the walk to the mean takes even longer.
- Do not bound the output to keep it tame: it then cannot reach the targets at all.
- Do not scale validation targets by their own statistics: use those of the training split.

## References
- van Hasselt et al., *Learning Values Across Many Orders of Magnitude*, NeurIPS 2016.
- LeCun, Bottou, Orr and Müller, *Efficient BackProp*, 1998, section 4.5 (choosing target values).
- Kingma and Ba, *Adam: A Method for Stochastic Optimization*, ICLR 2015 (step size bounded by the rate).
- Micikevicius et al., *Mixed Precision Training*, ICLR 2018.
"""

CAUSE = Cause(
    id="targets-not-normalized",
    title="targets not normalised",
    group="data",
    check="print y.mean() and y.std(): a regression learns best with 0 and 1",
    prior="occasional",
    predicts={
        "targets-unscaled": "always",
        "nan-from-growth": "often",
        "nonfinite-inputs": "never",
        "high-initial-loss": "always",
        "exploding-gradients": "often",
        "slow-convergence": "often",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "divergence": "sometimes",
        "plateau": "sometimes",
        "loss-at-chance": "sometimes",
        "still-improving": "often",
        "underfitting": "often",
        "loss-scale-collapse": "sometimes",
        "huge-updates": "sometimes",
        "oscillation": "sometimes",
        "loss-spike": "sometimes",
        "prediction-collapse": "sometimes",
        "saturated-units": "sometimes",
        "dead-units": "never",
        "flat-from-start": "rarely",
        "vanishing-gradients": "never",
        "overfitting-gap": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "val-at-chance": "never",
        "batch-not-learned": "sometimes",
        "batch-diverges": "sometimes",
        "lr-above-stable": "sometimes",
        "batch-barely-moves": "sometimes",
        "lr-below-useful": "sometimes",
        "scaling-cures": "usually",
    },
    look_alikes={
        "inputs-not-normalized": "the first loss exceeds mean(y²), because the predictions are large as well",
        "lr-too-high": "the first loss is normal; a lower rate cures it for good instead of making it crawl",
        "bounded-output": "predictions stop at a limit and gradients vanish; here gradients are huge",
        "loss-sum-reduction": "the loss is large by a factor of the batch size; halving the batch halves it",
    },
    fixes=("scale-targets", "set-output-bias", "lower-lr"),
    line=("target-origin", "loss"),
    do_not=(
        "read the size of the loss as failure: divide it by the variance of the targets first",
        "lower the learning rate until it survives: the walk to the mean then takes even longer",
        "bound the output with tanh or sigmoid: the targets are then out of reach",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "prices in the hundreds of thousands: first loss 1e10, gradients huge, still creeping down at the end",
            present=("high-initial-loss", "exploding-gradients", "slow-convergence", "still-improving"),
            absent=(
                "saturated-units",
                "dead-units",
                "vanishing-gradients",
                "flat-from-start",
                "overfitting-gap",
                "plateau",
            ),
            within=3,
        ),
        Case("healthy", "the first loss is about 1 and falls", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "tanh head: outputs at the limit, gradients gone",
            present=("saturated-units", "plateau", "prediction-collapse", "vanishing-gradients"),
            absent=("exploding-gradients", "high-initial-loss"),
            expects="bounded-output",
        ),
        Case("missing", "only a slow fall", present=("slow-convergence",)),
    ),
)
