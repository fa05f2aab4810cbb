"""Cause: the reward model scores length instead of quality."""

from __future__ import annotations

from traindx.causes.base import POLICY, PREFERENCE, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The reward model has a decent accuracy on its pairs. The policy that is trained against it writes longer and longer
answers, the reward rises with them, and people or a stricter judge do not prefer them.

## Why it happens
In most preference data the chosen answer is the longer one, so length is the easiest feature to learn. A model of
length alone reaches 60 to 70 % accuracy on common sets. The policy finds it at once, because length is easy to
change.

## How to tell it from its look-alikes
Accuracy on pairs whose *chosen answer is shorter* is below one half, and the correlation of reward and length over
answers of one prompt is high. `length-bias` of the loss grows answers without raising the reward. Other `reward-
hacking` shows in other features: lists, phrases, agreement.

## How to fix it
1. `check-on-true-score` with a length-controlled judge.
2. `remove-length-from-reward`, and balance the pairs by length.

## What NOT to do
- Do not punish length in the policy only: the model then hunts the next feature.
- Do not judge the reward model by its accuracy on pairs as they are.
- Do not truncate the answers: the rewarded part is the length itself.

## References
- Singhal et al., *A Long Way to Go: Investigating Length Correlations in RLHF*, 2023.
- Dubois et al., *Length-Controlled AlpacaEval*, 2024.
- Chen et al., *ODIN: Disentangled Reward Mitigates Hacking in RLHF*, ICML 2024.
"""

CAUSE = Cause(
    id="reward-model-learnt-length",
    title="reward model learnt length",
    group="preference",
    check="correlate reward and length of the answers: above 0.5 it is paid by length",
    prior="common",
    predicts={
        "length-tells-pairs": "usually",
        "outcome-poor": "sometimes",
        "proxy-and-score-part": "usually",
        "length-drifts": "often",
        "length-at-limit": "sometimes",
        "kl-high": "sometimes",
        "reward-flat": "never",
        "reward-falls": "never",
        "margin-zero": "rarely",
        "reward-spread-zero": "rarely",
        "entropy-low": "rarely",
        "ends-off-best": "sometimes",
    },
    look_alikes={
        "reward-hacking": "something else than length pays: format, phrases, agreement",
        "length-bias": "answers grow although the reward does not",
        "completions-truncated": "the answers are cut from the first step on",
    },
    fixes=("check-on-true-score", "remove-length-from-reward"),
    do_not=(
        "punish length in the policy only: the model then hunts the next feature",
        "judge the reward model by its accuracy on pairs as they are",
        "truncate the answers: the rewarded part is the length itself",
    ),
    doc=DOC,
    only_with=(*PREFERENCE, *POLICY),
    cases=(
        Case(
            "fires",
            "the reward rises, another score falls, answers grow to the limit",
            present=("proxy-and-score-part", "length-drifts", "length-at-limit"),
            absent=("reward-flat", "reward-falls", "entropy-low", "margin-zero"),
            within=2,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "another score falls, lengths stay",
            present=("proxy-and-score-part", "kl-high"),
            absent=("length-drifts", "length-at-limit"),
            expects="reward-hacking",
        ),
        Case("missing", "only that answers grow", present=("length-drifts",), absent=()),
    ),
    log_visible=False,
    needs="rewards of answers of equal quality and different length",
)
