"""Cause: fine-tuning overwrites what the model knew."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss of the task falls and everything the log shows is fine. General questions, other languages or earlier tasks
get worse. Where a second data set is evaluated, its loss rises from the first evaluation on.

## Why it happens
All weights move towards the new data, and nothing in the loss holds on to the old. The higher the rate, the longer
the training and the narrower the task, the more is overwritten. Rates of pretraining (1e-4 and above) forget in some
hundred updates.

## How to tell it from its look-alikes
Only an evaluation on other data shows it. Overfitting is seen on held-out data of the task itself: its loss falls
first and rises later. A broken evaluation is bad from the first point on and does not rise steadily.

## How to fix it
1. `lower-lr`, and fewer epochs: it costs nothing.
2. `keep-general-data`: mix in 5 to 20 % of general text, or train an adapter.

## What NOT to do
- Do not judge by the task's loss alone: it is what forgetting looks good in.
- Do not stop early by the general loss: the task may not be learnt by then.
- Do not add dropout or weight decay towards zero: they pull away from the pretrained weights too.

## References
- McCloskey and Cohen, *Catastrophic Interference in Connectionist Networks*, 1989.
- Luo et al., *An Empirical Study of Catastrophic Forgetting in Large Language Models During Continual Fine-tuning*,
  2023.
- Biderman et al., *LoRA Learns Less and Forgets Less*, 2024.
"""

CAUSE = Cause(
    id="catastrophic-forgetting",
    title="fine-tuning forgets what the model knew",
    group="which weights move",
    check="evaluate the untouched checkpoint on the same data: it scores better if so",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "general-loss-rises": "always",
        "overfitting-gap": "often",  # of a validation loss over both sets
        "ends-off-best": "often",
        "val-left-behind": "often",
        "val-at-chance": "often",
        "val-spike": "rarely",
        "val-noisy": "rarely",
        "loss-spike": "rarely",
        "plateau": "sometimes",
        "huge-updates": "rarely",
        "flat-from-start": "rarely",
        "loss-at-chance": "never",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "overfitting": "held-out data of the same task gets worse; here data of another kind does",
        "lr-too-high": "the training loss itself suffers",
        "val-preprocessing-mismatch": "the other set is bad from the start and does not rise",
    },
    fixes=(
        "lower-lr",
        "keep-general-data",
    ),
    do_not=(
        "judge by the task's loss alone: it is what forgetting looks good in",
        "stop early by the general loss: the task may not be learnt by then",
        "add dropout or weight decay towards zero: they pull away from the pretrained weights too",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the loss on general text doubles while the task's falls",
            present=(
                "general-loss-rises",
                "overfitting-gap",
            ),
            absent=(
                "nonfinite-loss",
                "divergence",
                "flat-from-start",
            ),
        ),
        Case(
            "healthy",
            "both losses fall",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "general-loss-rises",
            ),
        ),
        Case(
            "look-alike",
            "held-out data of the task gets worse after a while",
            present=("overfitting-gap",),
            absent=("general-loss-rises",),
            expects="overfitting",
        ),
        Case("missing", "validation gets worse", present=("overfitting-gap",), absent=()),
    ),
    log_visible=True,
    needs="a second held-out loss, on other data than the task's",
)
