"""Cause: actions outside the range of the environment, or squashed into it wrongly."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Continuous control that does not improve or swings from one bound to the other. The environment cuts what it is
given, so that most actions mean the same.

## Why it happens
A network gives numbers of any size; the environment takes a Box of its own. Without tanh and the scale of that Box,
with the scale applied twice, or with a large standard deviation, most actions lie beyond a bound: the gradient
still pushes them about out there, and nothing that the policy does makes a difference. A scale that is far too
small leaves the task without control.

## How to tell it from its look-alikes
Too little exploration uses a narrow part of the range as well, and lies inside it. Print the share of actions outside
`action_space`: below 30 % is usual at first, above one half is this cause.
Returns of single runs differ by chance: five seeds of each variant settle whether a change helped (Henderson et al.
2018), and a recording settles most of the wiring in one.

## How to fix it
1. `scale-actions`: tanh and the bounds of the space, or a wrapper that rescales; correct the log-probability for
   tanh (`TransformedDistribution` with `TanhTransform(cache_size=1)` does both).

## What NOT to do
- Do not clip actions and keep the log-probability of the unclipped one without a thought: it is fine for a few, not
  for most.
- Do not raise the learning rate: the gradient beyond the bounds is meaningless.

## References
- Haarnoja et al., *Soft Actor-Critic*, ICML 2018. Appendix C (tanh and its correction).
- Stable-Baselines3 documentation, *Reinforcement Learning Tips and Tricks* (normalise the action space).
- Henderson et al., *Deep Reinforcement Learning That Matters*, AAAI 2018.
"""

CAUSE = Cause(
    id="action-scale-wrong",
    title="actions outside the range of the environment, or squashed without correction",
    group="classic",
    check="print the share of actions outside of action_space: more than half of them if so",
    prior="occasional",
    predicts={
        "actions-out-of-range": "often",
        "squash-uncorrected": "often",
        "reward-flat": "often",
        "reward-falls": "sometimes",
        "value-loss-grows": "sometimes",
        "entropy-low": "sometimes",
        "exploration-missing": "rarely",
        "terminals-bootstrapped": "rarely",
        "discount-off": "rarely",
        "target-network-still": "rarely",
        "reward-reversed": "rarely",
    },
    look_alikes={
        "exploration-gone": "actions lie inside the range and hardly vary",
        "reward-not-scaled": "actions fit the range, and rewards are far from 1",
    },
    fixes=("scale-actions",),
    do_not=(
        "clip most actions and keep their log-probabilities: that is fine for a few of them",
        "raise the learning rate: the gradient beyond the bounds is meaningless",
    ),
    log_visible=False,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "85 % of the actions lie outside",
            present=("actions-out-of-range", "reward-flat"),
            absent=("discount-off", "terminals-bootstrapped"),
        ),
        Case("fires", "nothing but the recording shows it", present=("actions-out-of-range",)),
        Case(
            "fires",
            "squashed actions within the range, with the density of the draw",
            present=("squash-uncorrected",),
            absent=("actions-out-of-range", "reward-flat"),
        ),
        Case(
            "healthy",
            "nothing of the kind",
            absent=(*CALM_CURVES, *CALM_POLICY, "actions-out-of-range", "squash-uncorrected"),
        ),
        Case(
            "look-alike",
            "epsilon is 0 from the start",
            present=("exploration-missing", "reward-flat"),
            absent=("actions-out-of-range",),
            expects="exploration-gone",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
