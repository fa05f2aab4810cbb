"""Cause: the model is taught to prefer the rejected answers."""

from __future__ import annotations

from traindx.causes.base import PREFERENCE, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The loss falls, margins and accuracies rise: the log is that of a good run. The model gets worse. Only an evaluation
from outside shows it: a benchmark, a judge, a win rate against the starting model below one half.

## Why it happens
The columns are exchanged: a data set that lists the worse answer first, scores where lower is better, a sort in the
wrong order, a map that renames. To the loss both directions are equally learnable.

## How to tell it from its look-alikes
The first accuracy, before any update, says something where the starting model already knows better: clearly below one
half of pairs (by the log-probabilities of the reference) is suspicious. `catastrophic forgetting` and over-
optimisation make a model worse as well, later and not in the direction of the rejected answers. Reading ten pairs
settles it.

## How to fix it
1. `check-pairs`: read ten, behind the template.
2. Swap the columns and start again from the reference.

## What NOT to do
- Do not lower beta or the learning rate: it learns the wrong thing more slowly.
- Do not trust rising accuracies: they count agreement with the labels as given.
- Do not go on from this checkpoint.

## References
- Rafailov et al., *Direct Preference Optimization*, NeurIPS 2023.
- Wang et al., *Secrets of RLHF in Large Language Models Part II: Reward Modeling*, 2024 (wrong preferences in public
  data).
- Chowdhury et al., *Provably Robust DPO*, 2024 (flipped labels).
"""

CAUSE = Cause(
    id="dpo-pairs-swapped",
    title="chosen and rejected are swapped",
    group="preference",
    check="read ten pairs: the chosen answer must be the better one",
    prior="occasional",
    predicts={
        "rejected-likelier": "usually",
        "outcome-poor": "usually",
        "chosen-pushed-down": "sometimes",
        "equal-pairs": "rarely",
        "reference-is-policy": "rarely",
        "proxy-and-score-part": "often",
        "ends-off-best": "sometimes",
        "margin-zero": "never",
        "flat-from-start": "never",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "reward-flat": "never",
        "reward-falls": "rarely",
        "kl-high": "rarely",
    },
    look_alikes={
        "reward-hacking": "the reward is earned online, and the answers show how",
        "overfitting": "held-out margins fall while those of training rise",
        "train-val-label-mismatch": "only the evaluation has the other order",
    },
    fixes=("check-pairs",),
    do_not=(
        "lower beta or the learning rate: it learns the wrong thing more slowly",
        "trust rising accuracies: they count agreement with the labels as given",
        "go on from this checkpoint",
    ),
    doc=DOC,
    only_with=PREFERENCE,
    cases=(
        Case(
            "fires",
            "the loss falls, margins rise, an outside score falls",
            present=("proxy-and-score-part", "ends-off-best"),
            absent=("margin-zero", "kl-high", "reward-flat", "overfitting-gap", "length-drifts", "length-at-limit"),
            within=3,
        ),
        Case("healthy", "loss falls from 0.69, margin and accuracy rise", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "the reward rises online and the policy is far from its start",
            present=("proxy-and-score-part", "kl-high"),
            absent=("ends-off-best",),
            expects="reward-hacking",
        ),
        Case("missing", "only that a score ends off its best", present=("ends-off-best",), absent=()),
    ),
    log_visible=False,
    needs="the pairs themselves (print ten), or a score from outside",
)
