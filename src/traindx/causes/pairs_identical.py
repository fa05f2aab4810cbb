"""Cause: chosen and rejected answers are the same text."""

from __future__ import annotations

from traindx.causes.base import PREFERENCE, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Margins of exactly 0 and a loss of exactly 0.693 in all rows, or in a fixed share of them; gradient norms of 0 where
all pairs are equal. `logps/chosen` and `logps/rejected` are the same numbers.

## Why it happens
Both columns point to the same field, a template writes only the prompt, or truncation cuts both answers at the same
place: where the prompt fills the maximum length nothing of the answers is left. The difference of equal log-
probabilities has no gradient.

## How to tell it from its look-alikes
`dpo-reference-is-policy` has margins of 0 too, with log-probabilities of chosen and rejected that differ and a
gradient that flows. If only some pairs are equal the loss is a mixture and falls slowly: count them.

## How to fix it
1. `check-pairs` behind template and truncation; count the equal ones.
2. Truncate prompts from the left and leave room for the answers (`raise-max-length`).

## What NOT to do
- Do not raise beta or the learning rate: the gradient is exactly 0.
- Do not drop the template: the model then trains on other text than it is used with.
- Do not filter by text before the truncation: they become equal after it.

## References
- Rafailov et al., *Direct Preference Optimization*, NeurIPS 2023.
- huggingface/trl documentation, *DPO trainer*, max_prompt_length and truncation.
- Wang et al., *Secrets of RLHF in Large Language Models Part II: Reward Modeling*, 2024.
"""

CAUSE = Cause(
    id="pairs-identical",
    title="pairs that are equal",
    group="preference",
    check="count the pairs whose chosen and rejected answers are the same text",
    prior="occasional",
    predicts={
        "equal-pairs": "always",
        "reference-is-policy": "rarely",
        "chosen-pushed-down": "rarely",
        "margin-zero": "always",
        "flat-from-start": "usually",
        "constant-gradient-norm": "usually",
        "no-gradient": "sometimes",
        "unchanged-weights": "sometimes",
        "divergence": "never",
        "plateau": "rarely",
        "nonfinite-loss": "rarely",
        "overfitting-gap": "never",
        "reward-flat": "never",
    },
    look_alikes={
        "dpo-reference-is-policy": "log-probabilities of chosen and rejected differ, and the gradient flows",
        "frozen-params": "the margins of a trained copy would differ",
        "lr-too-low": "the margin grows, slowly",
    },
    fixes=("check-pairs", "raise-max-length"),
    do_not=(
        "raise beta or the learning rate: the gradient is exactly 0",
        "drop the template: the model then trains on other text than it is used with",
        "filter by text before the truncation: they become equal after it",
    ),
    doc=DOC,
    only_with=PREFERENCE,
    cases=(
        Case(
            "fires",
            "margins and gradient norms of exactly 0",
            present=("margin-zero", "constant-gradient-norm", "flat-from-start"),
            absent=("nonfinite-loss", "divergence", "overfitting-gap"),
        ),
        Case("healthy", "loss falls from 0.69, margin and accuracy rise", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "margins of 0 and gradients that change",
            present=("margin-zero", "flat-from-start"),
            absent=("constant-gradient-norm",),
            expects="dpo-reference-is-policy",
        ),
        Case("missing", "only that the loss does not move", present=("flat-from-start",), absent=()),
    ),
)
