"""Cause: bootstrapping through the end of an episode."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The return rises a little and stays low, or falls again. Q-values or values grow far beyond any return. The value loss
grows with them.

## Why it happens
A target is the reward plus the discounted value of the next state. After the last step of an episode there is no
next state: the observation that is there belongs to a new episode, or to the state that ended the old one. Without
the factor (1 - done) failing is worth as much as going on, so the policy has no reason to avoid it. Time-outs are
different: the task would have gone on, and the value of the last observation belongs into the target.

## How to tell it from its look-alikes
A target network that never follows and a rate that is too high make values grow as well; there the rows at ends of
episodes hold the reward alone. Compare `target - reward` at rows with done = 1: it must be 0.
Returns of single runs differ by chance: five seeds of each variant settle whether a change helped (Henderson et al.
2018), and a recording settles most of the wiring in one.

## How to fix it
1. `mask-terminals`: multiply the next value by (1 - terminated), and by nothing at time-outs.
2. `update-target-network`, if it is missing too.

## What NOT to do
- Do not lower the discount to keep values small: the policy then ignores what happens after a few steps.
- Do not clip the targets: the value of failing stays wrong.
- Do not mask time-outs as well: the value of a long episode is then cut.

## References
- Sutton and Barto, *Reinforcement Learning: An Introduction*, 2nd edition, 2018. Sections 3.3 and 6.1.
- Pardo et al., *Time Limits in Reinforcement Learning*, ICML 2018.
- Gymnasium documentation, *Handling Time Limits* (terminated and truncated).
"""

CAUSE = Cause(
    id="terminal-not-masked",
    title="bootstrapping through the end of an episode",
    group="classic",
    check="print target - reward at rows with done=1: it must be 0",
    prior="occasional",
    predicts={
        "terminals-bootstrapped": "always",
        "values-beyond-returns": "sometimes",
        "value-loss-grows": "often",
        "reward-flat": "often",
        "reward-falls": "sometimes",
        "discount-off": "rarely",
        "target-network-still": "rarely",
        "replay-repeats": "rarely",
        "reward-reversed": "rarely",
        "exploration-missing": "rarely",
    },
    look_alikes={
        "value-explosion": "targets stop at the reward where an episode ends; values grow for another reason",
        "target-network-stale": "the network that gives targets never changes, or changes at every update",
        "discount-wrong": "ends are masked, and the factor before the next value is wrong",
    },
    fixes=(
        "mask-terminals",
        "update-target-network",
    ),
    do_not=(
        "lower the discount to keep values small: the policy then ignores what happens after a few steps",
        "clip the targets: the value of failing stays wrong",
        "mask time-outs as well: the value of a long episode is then cut",
    ),
    log_visible=False,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "no factor (1 - done), values grow",
            present=("terminals-bootstrapped", "value-loss-grows"),
            absent=("target-network-still", "discount-off"),
        ),
        Case("fires", "nothing but the recording shows it", present=("terminals-bootstrapped",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "terminals-bootstrapped")),
        Case(
            "look-alike",
            "values grow although ends are masked",
            present=("values-beyond-returns", "value-loss-grows"),
            absent=("terminals-bootstrapped",),
            expects="value-explosion",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
