"""Cause: the reward is computed on another text than the one it is given to."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The rewards are sensible numbers with a healthy spread, gradients flow, KL and entropy move, and the mean reward does
not rise at all, or only as far as everything can be learnt that all prompts have in common (the format).

## Why it happens
Prompts, answers and references pass through several lists: repeated for each generation, gathered over ranks,
shuffled into mini-batches, filtered. If one of them is repeated prompt by prompt and another generation by
generation, every answer gets the reward of another. The same happens when the reward is parsed from the prompt, from
the text before the template was removed, or from a reference of another row. The advantage is then noise.

## How to tell it from its look-alikes
Unlike `zero-reward-variance` the spread within groups is fine; unlike `lr-too-low` the policy moves (KL grows). Parts
of the reward that depend on the answer alone (format) may rise while those that need the reference stay at chance.
The check is direct: print answer, reference and reward of ten rows right before the advantages.

## How to fix it
1. `look-at-rewards`: answer, prompt, reference and reward, side by side.
2. Keep all of it in one record from sampling to loss, and repeat with the same call.
3. `normalise-advantages` over the answers to one prompt, along the right axis.

## What NOT to do
- Do not raise the learning rate: it follows noise faster.
- Do not add generations: each gets somebody else's reward.
- Do not blame the model's size before a row has been read.

## References
- huggingface/trl documentation, *GRPO trainer*, reward functions and the order of repeated prompts.
- Shao et al., *DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models*, 2024 (GRPO).
- Huang et al., *The 37 Implementation Details of Proximal Policy Optimization*, ICLR blog track 2022.
"""

CAUSE = Cause(
    id="reward-answer-misaligned",
    title="reward of the wrong answer",
    group="reward",
    check="print answer, reference and reward of ten rows right before the advantages",
    prior="occasional",
    predicts={
        "outcome-poor": "sometimes",
        "advantages-off-rewards": "often",
        "reward-reversed": "rarely",
        "reward-flat": "usually",
        "flat-from-start": "often",
        "reward-spread-zero": "never",
        "plateau": "sometimes",
        "kl-high": "sometimes",
        "reward-falls": "sometimes",
        "entropy-low": "sometimes",
        "length-at-limit": "rarely",
        "proxy-and-score-part": "rarely",
        "constant-gradient-norm": "rarely",
        "margin-zero": "never",
        "sampler-disagrees": "rarely",
    },
    look_alikes={
        "zero-reward-variance": "the rewards within a group are equal; here they differ and follow nothing",
        "lr-too-low": "the policy hardly moves and its KL stays at 0",
        "completions-truncated": "most answers are cut before they can be right",
    },
    fixes=("look-at-rewards", "normalise-advantages"),
    do_not=(
        "raise the learning rate: it follows noise faster",
        "add generations: each gets somebody else's reward",
        "blame the model's size before a row has been read",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "rewards differ within groups, answers end, and the reward does not rise",
            present=("reward-flat", "flat-from-start"),
            absent=(
                "reward-spread-zero",
                "length-at-limit",
                "sampler-disagrees",
                "constant-gradient-norm",
                "divergence",
                "kl-high",
                "entropy-low",
            ),
            within=4,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "no group has differing rewards",
            present=("reward-flat", "reward-spread-zero"),
            absent=(),
            expects="zero-reward-variance",
        ),
        Case("missing", "only that the reward does not rise", present=("reward-flat",), absent=()),
    ),
    log_visible=False,
    needs="answers with their prompts and rewards (a live recording of the training)",
)
