"""Cause: exploration ends too early."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The return stays at that of a simple habit: always the same action, the nearest reward. The policy is certain of it
long before it has seen anything better.

## Why it happens
What is never tried is never learnt. Epsilon is 0, or its schedule counts episodes where it should count steps (or the
other way round); the standard deviation of a Gaussian policy collapses; an entropy bonus is missing or has the wrong
sign.

## How to tell it from its look-alikes
Look at what is tried, not at the return: the share of random actions, the entropy of the policy, the shares of
actions in the first thousand steps. Rewards that are never met look the same with plenty of exploration. Returns of
single runs differ by chance: five seeds of each variant settle whether a change helped (Henderson et al. 2018), and
a recording settles most of the wiring in one.

## How to fix it
1. `keep-exploring`: epsilon from 1 to 0.05 over the first 10 to 50 % of the steps; an entropy bonus of 0.01.
2. `keep-entropy` for policies with probabilities.

## What NOT to do
- Do not raise the learning rate: the same few situations are learnt faster.
- Do not train longer with the same schedule: it ended long ago.
- Do not judge by one seed: a lucky one finds the reward without exploration.

## References
- Mnih et al., *Human-level control through deep reinforcement learning*, Nature 2015.
- Mnih et al., *Asynchronous Methods for Deep Reinforcement Learning*, ICML 2016 (entropy bonus).
- Henderson et al., *Deep Reinforcement Learning That Matters*, AAAI 2018.
"""

CAUSE = Cause(
    id="exploration-gone",
    title="exploration ends too early",
    group="classic",
    check="print the share of random actions, or the policy's entropy: near zero long before the return is high",
    prior="common",
    predicts={
        "exploration-missing": "always",
        "entropy-low": "often",
        "entropy-pushed-down": "sometimes",
        "reward-flat": "often",
        "discount-off": "rarely",
        "terminals-bootstrapped": "rarely",
        "target-network-still": "rarely",
        "replay-repeats": "rarely",
        "reward-reversed": "rarely",
        "value-loss-grows": "rarely",
    },
    look_alikes={
        "entropy-collapse": "a policy of a language model that loses its entropy in the course of the training",
        "reward-sign-flipped": "the return falls from the first updates on, while everything is tried",
        "replay-degenerate": "actions vary, and the batches hold the same transitions",
    },
    fixes=(
        "keep-exploring",
        "keep-entropy",
    ),
    do_not=(
        "raise the learning rate: the same few situations are learnt faster",
        "train longer with the same schedule: it ended long ago",
        "judge by one seed: a lucky one finds the reward without exploration",
    ),
    log_visible=False,
    doc=DOC,
    only_with=("exploration-missing",),
    cases=(
        Case(
            "fires",
            "epsilon is 0 from the start",
            present=("exploration-missing", "reward-flat"),
            absent=("terminals-bootstrapped", "discount-off"),
        ),
        Case("fires", "nothing but the recording shows it", present=("exploration-missing",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "exploration-missing")),
        Case(
            "look-alike",
            "a buffer of eight entries",
            present=("replay-repeats", "reward-flat"),
            absent=("exploration-missing",),
            expects="replay-degenerate",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
