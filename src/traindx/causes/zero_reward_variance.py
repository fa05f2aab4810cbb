"""Cause: all answers of a group earn the same, so nothing is learnt."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
`reward_std` is 0 and `frac_reward_zero_std` is at or near 1. The reward stands still, very often at exactly 0, the
loss is 0.0 and so is the gradient norm, apart from a KL or entropy term. Nothing crashes and nothing is learnt.

## Why it happens
Group-relative methods (GRPO, RLOO, DAPO) take the difference between an answer's reward and the mean of its group. If
all answers to a prompt earn the same there is no difference, the advantage is exactly 0 and the group adds nothing to
the gradient. The rewards are equal because

- nothing earns anything: the task is far too hard, the parser never finds the answer, the format is demanded to the
  letter, the answer is cut before its end;
- everything earns the same: the task is too easy, or the reward only checks what every answer has;
- the answers are the same text: temperature 0, a fixed seed for each sample, groups of one.

## How to tell it from its look-alikes
Read the mean reward beside the spread. A spread of 0 at a mean of 0 (or at the lowest value) means that nothing is
ever rewarded; at the maximum it means solved, which is the end of learning and no fault. If most answers end at the
maximum length, `completions-truncated` is behind it. If the rewards differ between groups but not within, prompts are
too easy or too hard one by one. A spread that is fine with a gradient norm of 0 is not this: look for `detached-
graph`.

## How to fix it
1. `look-at-rewards`: print ten answers with their rewards before changing anything.
2. `vary-rewards`: temperature, groups of 8 or more, prompts of medium difficulty, partial credit, dynamic sampling.
3. `raise-max-length` where answers are cut.

## What NOT to do
- Do not raise the learning rate: an advantage of 0 times anything is 0.
- Do not train longer: groups without spread give no gradient however many there are.
- Do not read the loss of 0.0 as converged: it is 0 by construction.

## References
- Yu et al., *DAPO: An Open-Source LLM Reinforcement Learning System at Scale*, 2025. Section 3.2, dynamic sampling.
- Shao et al., *DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models*, 2024 (GRPO).
- huggingface/trl issue 3857, reward_std of 0 in all groups.
"""

CAUSE = Cause(
    id="zero-reward-variance",
    title="rewards without variance",
    group="reward",
    check="count the groups whose rewards are all equal",
    prior="very common",
    predicts={
        "reward-reversed": "rarely",
        "advantages-off-rewards": "rarely",
        "reward-spread-zero": "always",
        "reward-flat": "usually",
        "flat-from-start": "often",
        "constant-gradient-norm": "often",
        "length-at-limit": "sometimes",
        "reward-falls": "rarely",
        "kl-high": "rarely",
        "entropy-low": "sometimes",
        "proxy-and-score-part": "never",
        "divergence": "rarely",
        "nonfinite-loss": "never",
        "margin-zero": "never",
        "value-loss-grows": "rarely",
        "plateau": "sometimes",
    },
    look_alikes={
        "completions-truncated": "most answers are cut at the maximum length; here they end by themselves",
        "reward-answer-misaligned": "rewards differ within groups but do not follow the answers",
        "healthy": "the reward rose to its maximum first: the prompts are solved",
    },
    fixes=("look-at-rewards", "vary-rewards", "raise-max-length"),
    do_not=(
        "raise the learning rate: an advantage of 0 times anything is 0",
        "train longer: groups without spread give no gradient however many there are",
        "read the loss of 0.0 as converged: it is 0 by construction",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "no group has differing rewards and the reward stands still",
            present=("reward-spread-zero", "reward-flat"),
            absent=("length-at-limit", "kl-high", "divergence"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "most answers are cut and nothing is rewarded",
            present=("reward-spread-zero", "reward-flat", "length-at-limit"),
            absent=(),
            expects="completions-truncated",
        ),
        Case("missing", "only that the reward does not rise", present=("reward-flat",), absent=()),
    ),
)
