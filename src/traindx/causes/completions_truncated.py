"""Cause: answers are cut before they can earn anything."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Most answers have exactly the maximum length (`completions/clipped_ratio`, `response_length/clip_ratio` near 1). The
reward is low and flat, often exactly 0, and its spread with it; later the entropy may grow, because endless text is
all the same to the loss.

## Why it happens
The final answer stands at the end of the text. If the limit cuts it off, a right solution and a wrong one earn the
same. Either the limit is too small for the way the model reasons, or the text never ends: the end-of-sequence token
is not the one the sampler stops at, the chat template is missing, the model was never trained to stop, or it has
collapsed into repetition.

## How to tell it from its look-alikes
The share of cut answers separates it from `zero-reward-variance`, which it causes. Whether the limit or the model is
at fault, ten answers tell: sensible text that breaks off, or repetition. A share that *rises* during training while
rewards fall is not a limit but a collapse (`length-bias`, `entropy-collapse`, `kl-runaway`).

## How to fix it
1. `raise-max-length`, after a look at ten cut answers; check the token that ends an answer.
2. `vary-rewards`: a part of the reward that cut answers can earn, such as a format.
3. A soft penalty before the limit (DAPO), and cut answers left out of the loss.

## What NOT to do
- Do not penalise all cut answers hard from the start: correct reasoning is punished with them.
- Do not shorten the prompt instead: the limit counts new tokens in most trainers.
- Do not raise the temperature: longer, not better.

## References
- Yu et al., *DAPO: An Open-Source LLM Reinforcement Learning System at Scale*, 2025. Section 3.4, overlong reward
  shaping.
- Liu et al., *Understanding R1-Zero-Like Training: A Critical Perspective*, 2025 (Dr. GRPO).
- 0russwest0/Agent-R1 issue 30: NaN after all responses were clipped.
"""

CAUSE = Cause(
    id="completions-truncated",
    title="answers cut at the maximum length",
    group="reward",
    check="count the answers that end without the end-of-sequence token",
    prior="common",
    predicts={
        "length-at-limit": "always",
        "reward-flat": "usually",
        "reward-spread-zero": "often",
        "flat-from-start": "often",
        "length-drifts": "sometimes",
        "reward-falls": "sometimes",
        "constant-gradient-norm": "sometimes",
        "entropy-low": "rarely",
        "kl-high": "sometimes",
        "proxy-and-score-part": "never",
        "nonfinite-loss": "sometimes",
        "margin-zero": "never",
        "divergence": "sometimes",
    },
    look_alikes={
        "zero-reward-variance": "answers end by themselves; here they are cut",
        "length-bias": "the length grows during training while the first answers ended",
        "entropy-collapse": "the entropy is used up and answers repeat themselves",
    },
    fixes=("raise-max-length", "vary-rewards"),
    do_not=(
        "penalise all cut answers hard from the start: correct reasoning is punished with them",
        "shorten the prompt instead: the limit counts new tokens in most trainers",
        "raise the temperature: longer, not better",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "nearly all answers are cut and the reward stands still",
            present=("length-at-limit", "reward-flat"),
            absent=("kl-high", "divergence", "proxy-and-score-part"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "no spread, but answers end",
            present=("reward-spread-zero", "reward-flat"),
            absent=("length-at-limit",),
            expects="zero-reward-variance",
        ),
        Case("missing", "only that the reward does not rise", present=("reward-flat",), absent=()),
    ),
)
