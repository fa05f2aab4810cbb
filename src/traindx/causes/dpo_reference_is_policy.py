"""Cause: the reference model moves with the policy."""

from __future__ import annotations

from traindx.causes.base import PREFERENCE, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The loss stays at 0.693 (ln 2), margins are 0 (or noise of the size of dropout), accuracies stand at one half or at 0.
The gradient may be ordinary, so that the policy drifts without being measured.

## Why it happens
DPO compares log-probabilities with those of a frozen copy of the starting model. If `ref_model` is the same object,
shares its parameters, or the adapter is not switched off while the reference is computed, both are equal at every
step and all log ratios are 0.

## How to tell it from its look-alikes
Pairs of equal texts (`pairs-identical`) give margins of 0 as well, with chosen and rejected log-probabilities that
are equal too: compare `logps/chosen` and `logps/rejected`. A learning rate of nearly 0 shows margins that grow slowly
but surely. Here the log-probabilities move and the rewards, measured against the moving reference, do not.

## How to fix it
1. `freeze-reference`: a copy before the first update, or adapters switched off for it.
2. `check-pairs`, to exclude equal texts.

## What NOT to do
- Do not raise beta: it multiplies zero.
- Do not raise the learning rate: policy and reference move together.
- Do not leave the reference out: the method is another one then.

## References
- Rafailov et al., *Direct Preference Optimization*, NeurIPS 2023.
- huggingface/trl documentation, *DPO trainer*, reference model with adapters.
- Meng et al., *SimPO*, NeurIPS 2024 (a method that needs no reference).
"""

CAUSE = Cause(
    id="dpo-reference-is-policy",
    title="reference model is the policy itself",
    group="preference",
    check="compare one weight of policy and reference after an update: they must differ",
    prior="common",
    predicts={
        "reference-is-policy": "always",
        "equal-pairs": "rarely",
        "chosen-pushed-down": "rarely",
        "margin-zero": "always",
        "flat-from-start": "usually",
        "plateau": "rarely",
        "loss-at-chance": "sometimes",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "nonfinite-loss": "never",
        "constant-gradient-norm": "sometimes",
        "reward-flat": "never",
    },
    look_alikes={
        "pairs-identical": "chosen and rejected log-probabilities are equal as well",
        "lr-too-low": "the margin grows, slowly",
        "frozen-params": "the log-probabilities do not move at all",
    },
    fixes=("freeze-reference", "check-pairs"),
    do_not=(
        "raise beta: it multiplies zero",
        "raise the learning rate: policy and reference move together",
        "leave the reference out: the method is another one then",
    ),
    doc=DOC,
    only_with=PREFERENCE,
    cases=(
        Case(
            "fires",
            "margins of 0, a loss of ln 2, gradients flow",
            present=("margin-zero", "flat-from-start"),
            absent=(
                "nonfinite-loss",
                "divergence",
                "overfitting-gap",
                "unchanged-weights",
                "no-gradient",
                "constant-gradient-norm",
            ),
            within=2,
        ),
        Case("healthy", "loss falls from 0.69, margin and accuracy rise", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "no gradient reaches the weights",
            present=("no-gradient", "unchanged-weights", "flat-from-start"),
            absent=("margin-zero",),
            expects="frozen-params",
        ),
        Case("missing", "only that the loss does not move", present=("flat-from-start",), absent=()),
    ),
)
