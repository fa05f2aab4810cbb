"""Cause: the policy earns reward without doing the task."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The reward rises as it should, even beautifully. A held-out score, an independent judge or simply reading the answers
says that the policy gets worse: longer, padded, formatted, flattering, or right for the wrong reason.

## Why it happens
A reward is a stand-in for what is wanted. Training finds whatever raises it, and the further the policy goes from
where it began, the less the stand-in is worth: with learned reward models the true score first rises and then falls
as the KL distance grows (Gao et al. 2023). Rule-based rewards have holes too: a parser that takes the last number, a
format bonus that outweighs the answer, tests that can be special-cased.

## How to tell it from its look-alikes
It needs a second opinion: without one, a log shows a good run. With one, the two curves part while both are measured
on the same policy. `overfitting` to the prompts parts them as well, but there the reward on *new* prompts stands
still, while hacking raises it on new prompts too. A correctness part of the reward that falls while format or length
parts rise is the plainest sign a log can hold. `reward-model-learnt-length` is the special case in which the answers
only grow.

## How to fix it
1. `check-on-true-score`: a score that is not trained on, every few dozen steps; keep its best checkpoint.
2. Close the hole that the highest rewarded answers show.
3. `mend-kl-term`: hold the policy closer to where it began.
4. `remove-length-from-reward` where length is what pays.

## What NOT to do
- Do not train longer because the reward still rises: that is the fault.
- Do not compare checkpoints by the reward: it is what was gamed.
- Do not add a second reward of the same kind: two parsers with one hole have one hole.

## References
- Gao, Schulman and Hilton, *Scaling Laws for Reward Model Overoptimization*, ICML 2023.
- Skalse et al., *Defining and Characterizing Reward Hacking*, NeurIPS 2022.
- Amodei et al., *Concrete Problems in AI Safety*, 2016.
"""

CAUSE = Cause(
    id="reward-hacking",
    title="reward hacking",
    group="reward",
    check="look at ten answers, or episodes, with the highest reward",
    prior="common",
    predicts={
        "outcome-poor": "often",
        "proxy-and-score-part": "always",
        "reward-flat": "never",
        "reward-falls": "never",
        "reward-spread-zero": "rarely",
        "kl-high": "often",
        "length-drifts": "rarely",
        "length-at-limit": "sometimes",
        "entropy-low": "rarely",
        "overfitting-gap": "sometimes",
        "ends-off-best": "sometimes",
        "flat-from-start": "never",
        "margin-zero": "never",
    },
    look_alikes={
        "overfitting": "the reward on new prompts does not rise; a hacked one rises there too",
        "reward-model-learnt-length": "answers of the same quality earn more when they are longer",
        "healthy": "the independent score rises as well, only more slowly",
    },
    fixes=("check-on-true-score", "mend-kl-term", "remove-length-from-reward"),
    do_not=(
        "train longer because the reward still rises: that is the fault",
        "compare checkpoints by the reward: it is what was gamed",
        "add a second reward of the same kind: two parsers with one hole have one hole",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the reward rises, held-out accuracy falls, the policy is far from its start",
            present=("proxy-and-score-part", "kl-high"),
            absent=("reward-falls", "reward-flat", "margin-zero"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "the reward falls steadily",
            present=("reward-falls",),
            absent=("proxy-and-score-part",),
            expects="reward-sign-flipped",
        ),
        Case("missing", "a policy far from the reference, no second score", present=("kl-high",), absent=()),
    ),
)
