"""Cause: the loss weighs answers by their length."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Answers grow through the whole run, wrong ones most of all, while the reward rises no more. Or they shrink to a few
words. More and more of them reach the maximum length.

## Why it happens
Dividing each answer's loss by its own length makes a token of a long wrong answer cheap and one of a short wrong
answer dear: among wrong answers, long ones are punished less and so grow. Summing instead of averaging does the
opposite where most answers are wrong. Dividing by the tokens of a micro-batch weighs answers by what they happened to
be batched with.

## How to tell it from its look-alikes
Growth *with* the reward is what reasoning does. Plot the length of right and wrong answers apart: in a length bias
the wrong ones grow. `reward-hacking` by length has a reward that rises with the length; `completions-truncated` has
cut answers from the start.

## How to fix it
1. `average-over-tokens` of the whole batch, or divide by a constant.
2. `raise-max-length` if cut answers are part of it.
3. A soft penalty for length, after the loss is right.

## What NOT to do
- Do not raise the maximum length only: they grow into it.
- Do not punish length hard: right reasoning is cut with it.
- Do not compare runs by their mean length.

## References
- Liu et al., *Understanding R1-Zero-Like Training: A Critical Perspective*, 2025 (Dr. GRPO).
- Yu et al., *DAPO: An Open-Source LLM Reinforcement Learning System at Scale*, 2025. Section 3.3, token-level loss.
- Singhal et al., *A Long Way to Go: Investigating Length Correlations in RLHF*, 2023.
"""

CAUSE = Cause(
    id="length-bias",
    title="length bias of the loss",
    group="policy",
    check="compare the mean length of good and of bad answers",
    prior="occasional",
    predicts={
        "length-drifts": "always",
        "length-at-limit": "often",
        "reward-flat": "often",
        "flat-from-start": "often",
        "plateau": "often",
        "divergence": "sometimes",
        "reward-falls": "sometimes",
        "kl-high": "sometimes",
        "entropy-low": "rarely",
        "reward-spread-zero": "rarely",
        "proxy-and-score-part": "rarely",
        "sampler-disagrees": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "reward-hacking": "the reward rises with the length while another score falls",
        "completions-truncated": "answers are cut from the first step on",
        "kl-runaway": "the KL divergence runs away at the same time",
    },
    fixes=("average-over-tokens", "raise-max-length"),
    do_not=(
        "raise the maximum length only: they grow into it",
        "punish length hard: right reasoning is cut with it",
        "compare runs by their mean length",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "answers triple in length while the reward stands still",
            present=("length-drifts", "plateau"),
            absent=(
                "kl-high",
                "sampler-disagrees",
                "sampler-drifts",
                "proxy-and-score-part",
                "entropy-low",
                "divergence",
                "length-at-limit",
            ),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "nearly all answers cut from the start",
            present=("length-at-limit", "reward-flat"),
            absent=("length-drifts",),
            expects="completions-truncated",
        ),
        Case("missing", "only that the reward stopped", present=("plateau",), absent=()),
    ),
)
