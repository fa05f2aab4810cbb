"""Cause: gradients are cleared between backward and step."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss stays where it began, at chance level or at whatever the first weights give, and wanders only with the batches.
Gradients look normal where they are printed right after `backward()`. No weight moves, at any learning rate.

## Why it happens
`zero_grad()` stands between `backward()` and `step()`. It clears what the backward pass has just computed, so the
optimizer finds no gradient and skips the parameter. With `set_to_none=False` it finds zeros instead: then weight decay
and the momentum of an earlier phase still move the weights, but not the data. It comes from moving lines around, from
wrapping the loop for accumulation or mixed precision, or from a second `zero_grad()` that somebody adds to be safe.

## How to tell it from its look-alikes
A learning rate that is far too low leaves small but nonzero gradients at the update, and a rate a thousand times as
high then moves the weights; here nothing does. A detached graph and frozen weights have no gradient right after
`backward()` either; here they have one until the call. The proof costs a minute: print `p.grad` right before
`optimizer.step()`.

## How to fix it
1. `clear-after-step`: move the call behind `step()` (or before `backward()`).

## What NOT to do
- Do not raise the learning rate: any rate times nothing is nothing.
- Do not change the initialisation or the model: none of it has been trained yet.

## References
- PyTorch documentation, *torch.optim.Optimizer.zero_grad* and *Zeroing out gradients in PyTorch* (recipe).
- Humbatova et al., *Taxonomy of Real Faults in Deep Learning Systems*, ICSE 2020 (wrong position of zero_grad).
"""

CAUSE = Cause(
    id="gradients-cleared-before-step",
    title="gradients are cleared before the optimizer uses them",
    group="optimisation",
    check="print p.grad right before optimizer.step(): zero or None if so",
    prior="rare",
    predicts={
        "gradients-wiped": "always",
        "flat-from-start": "usually",
        "tiny-updates": "usually",
        "unchanged-weights": "often",
        "loss-at-chance": "often",
        "underfitting": "often",
        "high-initial-loss": "sometimes",
        "val-at-chance": "sometimes",
        "prediction-collapse": "sometimes",
        "plateau": "rarely",
        "huge-updates": "never",
        "exploding-gradients": "rarely",
        "divergence": "rarely",
        "overfitting-gap": "never",
        "suspiciously-good": "never",
        "gradients-not-cleared": "never",
        "no-gradient": "rarely",
        "nonfinite-loss": "rarely",
    },
    look_alikes={
        "lr-too-low": "gradients are there at the update, only the step is small; here there are none",
        "detached-graph": "no gradient right after backward() either; here zero_grad() takes it away",
        "frozen-params": "requires_grad is False; here it is True and backward() fills the gradient",
        "missing-zero-grad": "the opposite: gradients of earlier updates are still there",
    },
    fixes=("clear-after-step",),
    line=("clearing",),
    do_not=(
        "raise the learning rate: any rate times nothing is nothing",
        "change the model or its initialisation: nothing has been trained yet",
    ),
    log_visible=False,
    doc=DOC,
    cases=(
        Case(
            "fires",
            "zero_grad() between backward() and step(), the loss stays at chance",
            present=("gradients-wiped", "flat-from-start", "tiny-updates", "loss-at-chance"),
            absent=("no-gradient", "frozen-weights", "divergence", "nonfinite-loss"),
        ),
        Case("healthy", "gradients are there at every update", absent=(*CALM_CURVES, *CALM_INSIDE, "gradients-wiped")),
        Case(
            "look-alike",
            "a learning rate of 1e-9",
            present=("flat-from-start", "tiny-updates"),
            absent=("gradients-wiped", "no-gradient", "unchanged-weights"),
            expects="lr-too-low",
        ),
        Case("missing", "a flat loss in a log", present=("flat-from-start",)),
    ),
)
