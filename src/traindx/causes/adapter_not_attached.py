"""Cause: adapters are there and take no part, or are in the wrong place."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss stays where the base model has it, or falls by what a small rest of trainable parameters can do. Or the first
backward pass dies with `element 0 of tensors does not require grad`. The saved adapter changes nothing: its second
matrices are zero.

## Why it happens
An adapter learns only if it is attached to the model that trains, switched on, not merged, and trainable.
`PeftModel.from_pretrained` loads for inference and freezes it. `merge_adapter` folds it into the base, and the pair
gets no gradient. Names in `target_modules` may match the head alone or one block in ten (a pattern `layers.1` without
a dot behind it is another matter: it also matches 10 to 19). A second wrapper or a copy of the model may hold the
adapter that was meant.

## How to tell it from its look-alikes
`model.print_trainable_parameters()` and the list of adapted modules decide. An adapter that is right also has zero
second matrices before the first update, a frozen base and few trainable parameters: none of that is a fault. Gradient
checkpointing without input gradients leaves the pairs trainable and without a gradient (`detached-graph`). Adapters
whose parameters somebody froze are `frozen-params`.

## How to fix it
1. `attach-adapter`: `is_trainable=True`, merge afterwards, check the names of the adapted modules.
2. Build the optimizer after the adapter.

## What NOT to do
- Do not raise the learning rate or the rank: nothing of it reaches the loss.
- Do not unfreeze the base to make the error go away: that is another training.
- Do not merge before training to save time.

## References
- PEFT documentation, *PeftModel.from_pretrained* (`is_trainable`) and *Troubleshooting*.
- Hu et al., *LoRA: Low-Rank Adaptation of Large Language Models*, ICLR 2022.
"""

CAUSE = Cause(
    id="adapter-not-attached",
    title="adapter takes no part in the training",
    group="which weights move",
    check="call model.print_trainable_parameters(): the adapters must be among them, and not zero",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "adapter-inactive": "always",
        "adapter-at-zero": "often",
        "flat-from-start": "sometimes",
        "plateau": "sometimes",
        "underfitting": "sometimes",
        "no-gradient": "sometimes",
        "unchanged-weights": "sometimes",
        "run-died": "sometimes",
        "tiny-updates": "sometimes",
        "huge-updates": "rarely",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "frozen-params": "the base's own layers are random and frozen; here it is the adapter that does nothing",
        "detached-graph": "the pairs ask for a gradient and none arrives",
        "adapter-scale-wrong": "the adapter learns, by far too much or too little",
        "params-not-in-optimizer": "the pairs get gradients and no optimizer holds them",
    },
    fixes=("attach-adapter",),
    do_not=(
        "raise the learning rate or the rank: nothing of it reaches the loss",
        "unfreeze the base to make the error go away: that is another training",
        "merge before training to save time",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "an adapter loaded for inference is trained on",
            present=(
                "adapter-inactive",
                "flat-from-start",
            ),
            absent=(
                "nonfinite-loss",
                "divergence",
                "no-gradient",
            ),
        ),
        Case(
            "healthy",
            "every pair learns",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "adapter-inactive",
            ),
        ),
        Case(
            "look-alike",
            "no gradient reaches trainable parameters",
            present=(
                "no-gradient",
                "flat-from-start",
            ),
            absent=("adapter-inactive",),
            expects="detached-graph",
        ),
        Case("missing", "a flat loss", present=("flat-from-start",), absent=()),
    ),
    log_visible=False,
    needs="which adapters are attached and trainable (a live recording)",
)
