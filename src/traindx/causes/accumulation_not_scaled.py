"""Cause: accumulated losses are summed instead of averaged."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
Raising the number of accumulation steps changes the training although the effective batch was meant to stay the same.
The gradient norm is larger by just that factor. With plain SGD the run is restless or diverges; with Adam it looks
normal except for the norm, a clipping that always acts, or a logged loss that is larger by the same factor. Some
frameworks log the sum, and the curve drops at every epoch end, where the last cycle is shorter.

## Why it happens
Accumulation imitates one large batch. `loss.backward()` on each of k micro-batches adds k mean gradients; the large
batch would have used their *mean*. Undivided, SGD takes a step k times too long. Measured on the 8×8 digits, 8
micro-batches of 8, SGD with momentum at 0.1: divided it reaches 0.0004, undivided it ends at chance (2.33) with dead
units. Adam gave the same curve to three digits either way, with a gradient norm of 4.4 instead of 0.55. With variable
lengths there is a finer form: dividing each micro-batch by its own token count weights short sequences too much,
which cost language-model trainers accuracy until late 2024.

## How to tell it from its look-alikes
Compare accumulation 1 and k at equal effective batch: loss and norm of the first step must agree. In
`loss-sum-reduction` the factor is the batch size, in `missing-zero-grad` the norm grows without end, here it is
constant and equals k. A high learning rate alone leaves the first gradient norm as it was.

## How to fix it
1. `divide-loss-by-accumulation`, by tokens where lengths vary.
2. `lower-lr` by k for plain SGD, if the loop cannot be changed.
3. `clip-gradients` afterwards, with the threshold chosen anew.

## What NOT to do
- Do not divide twice: Lightning, Accelerate and the Hugging Face Trainer already do it.
- Do not drop accumulation to "solve" it: the batch would change as well.
- Do not forget the incomplete last cycle of an epoch: its gradients leak into the next one.

## References
- Hugging Face, *Fixing Gradient Accumulation* (blog), 2024; transformers issues 34191, 35438 and 37766.
- PyTorch documentation, *Automatic mixed precision examples: gradient accumulation*.
- Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017 (remarks on loss normalisation).
"""

CAUSE = Cause(
    id="accumulation-not-scaled",
    title="loss not divided by the accumulation steps",
    group="optimisation",
    check="divide the loss by the number of accumulation steps and compare the first 50 updates",
    prior="rare",
    predicts={
        "no-accumulation": "never",
        "accumulation-unscaled": "always",
        "gradients-not-cleared": "never",
        "exploding-gradients": "usually",
        "high-initial-loss": "often",
        "huge-updates": "often",
        "oscillation": "sometimes",
        "loss-spike": "sometimes",
        "divergence": "sometimes",
        "plateau": "sometimes",
        "nonfinite-loss": "sometimes",
        "nonfinite-gradient": "sometimes",
        "loss-at-chance": "sometimes",
        "dead-units": "sometimes",
        "flat-from-start": "rarely",
        "slow-convergence": "rarely",
        "overfitting-gap": "rarely",
        "val-noisy": "rarely",
        "val-spike": "rarely",
        "vanishing-gradients": "never",
        "tiny-updates": "never",
        "no-gradient": "never",
        "unchanged-weights": "never",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "loss-sum-reduction": "the factor is the batch size, not the number of accumulation steps",
        "missing-zero-grad": "the norm grows without end; here it is constant and too large by one factor",
        "lr-too-high": "the first gradient norm does not depend on the accumulation steps",
    },
    fixes=("divide-loss-by-accumulation", "lower-lr", "clip-gradients"),
    line=("accumulation",),
    do_not=(
        "divide twice: Lightning, Accelerate and the Hugging Face Trainer already do it",
        "drop accumulation to solve it: the effective batch changes as well",
        "forget the incomplete last cycle: its gradients leak into the next epoch",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "eight accumulation steps under Adam: norm and logged loss eight times too large, the run itself calm",
            present=("exploding-gradients", "high-initial-loss"),
            absent=(
                "divergence", "oscillation", "nonfinite-loss", "slow-convergence", "plateau", "underfitting",
                "saturated-units",
                "vanishing-gradients", "flat-from-start", "loss-at-chance", "huge-updates", "val-noisy",
                "still-improving",
            ),
            within=6,
        ),
        Case("healthy", "norm and loss do not depend on accumulation", absent=CALM_CURVES + CALM_INSIDE),
        Case(
            "look-alike",
            "the gradient norm climbs for ever, the loss swings",
            present=("exploding-gradients", "oscillation", "divergence"),
            absent=("high-initial-loss",),
            expects="missing-zero-grad",
        ),
        Case("missing", "a restless loss from a run with accumulation", present=("oscillation",)),
    ),
)  # fmt: skip
