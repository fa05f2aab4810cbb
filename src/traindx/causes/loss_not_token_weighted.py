"""Cause: the loss is a mean of means over micro-batches of different lengths."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls, and is not the one of the same data in one large batch. Results change with the number of accumulation
steps or ranks. Short answers are learnt too well and long ones too little.

## Why it happens
Each micro-batch averages over its own counted tokens, and the averages are averaged. A token in a batch of 20 counted
tokens weighs 25 times as much as one in a batch of 500. Accumulation, data parallelism and masks that leave few
tokens make it strong; equal lengths make it vanish.

## How to tell it from its look-alikes
traindx measures what each mean counts and the mean over tokens beside it. Gradients that are summed without any
division (`accumulation-not-scaled`) are too large by the number of passes, whatever the lengths. A prompt that is
counted changes which tokens count, not how much each does.

## How to fix it
1. `weight-by-tokens`: sum the losses and divide by the counted tokens of the whole update.
2. Pack or sort into buckets of one length.

## What NOT to do
- Do not tune the learning rate for it: the weights of tokens stay unequal.
- Do not drop short samples: they are data.
- Do not compare losses of runs with other accumulation as they are.

## References
- Hugging Face blog, *Fixing Gradient Accumulation*, 2024.
- Unsloth blog, *Bugs in LLM Training: Gradient Accumulation Fix*, 2024.
"""

CAUSE = Cause(
    id="loss-not-token-weighted",
    title="loss is a mean of means, not a mean over tokens",
    group="what the loss sees",
    check="compare the loss with the mean over all tokens of the step: they must be equal",
    prior="rare",
    predicts={
        "token-weights-unequal": "always",
        "slow-convergence": "sometimes",
        "val-left-behind": "sometimes",
        "loss-spike": "sometimes",
        "oscillation": "sometimes",
        "plateau": "sometimes",
        "accumulation-unscaled": "rarely",
        "flat-from-start": "rarely",
        "divergence": "rarely",
        "no-gradient": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "accumulation-not-scaled": "the gradient is too large by the number of passes, for all tokens alike",
        "loss-sum-reduction": "a sum over samples that nobody divides",
        "class-imbalance": "classes are unequal in number; here tokens are unequal in weight",
    },
    fixes=("weight-by-tokens",),
    do_not=(
        "tune the learning rate for it: the weights of tokens stay unequal",
        "drop short samples: they are data",
        "compare losses of runs with other accumulation as they are",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "means over 20 and 470 tokens weigh the same",
            present=("token-weights-unequal",),
            absent=(
                "accumulation-unscaled",
                "nonfinite-loss",
            ),
        ),
        Case(
            "healthy",
            "divided by all counted tokens",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "token-weights-unequal",
            ),
        ),
        Case(
            "look-alike",
            "sums that nobody divides",
            present=(
                "accumulation-unscaled",
                "huge-updates",
            ),
            absent=("token-weights-unequal",),
            expects="accumulation-not-scaled",
        ),
        Case("missing", "slow convergence", present=("slow-convergence",), absent=()),
    ),
    log_visible=False,
    needs="how many tokens each pass counts (a live recording)",
)
