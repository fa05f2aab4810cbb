"""Cause: target network never or always updated."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Q-learning stays near its first return although its loss is small: targets come from an untrained network. Or it
swings and collapses, with Q-values that run away: targets move with every update.

## Why it happens
Targets come from a second network that must stand still for a while and then follow. Without the copy it stays
random, and its values are what is learnt. With a copy at every update, or with the same object under two names,
each update moves its own target, which feeds overestimates back.

## How to tell it from its look-alikes
A terminal that is not masked makes values grow too. Compare the two networks: equal at every update, or the target
unchanged since the start, is this cause; both are seen in a minute by the norm of their difference.
Returns of single runs differ by chance: five seeds of each variant settle whether a change helped (Henderson et al.
2018), and a recording settles most of the wiring in one.

## How to fix it
1. `update-target-network`: copy every few hundred updates, or a moving average with a factor of 0.005.

## What NOT to do
- Do not train longer: targets of a network that never learnt do not improve.
- Do not lower the learning rate because of swings: targets still move with every update.
- Do not remove the target network.

## References
- Mnih et al., *Human-level control through deep reinforcement learning*, Nature 2015.
- Lillicrap et al., *Continuous control with deep reinforcement learning*, ICLR 2016 (moving average, 0.001).
- Fujimoto et al., *Addressing Function Approximation Error in Actor-Critic Methods*, ICML 2018.
"""

CAUSE = Cause(
    id="target-network-stale",
    title="target network never or always updated",
    group="classic",
    check="print the norm of the difference between the two networks: always 0, or growing without end, if so",
    prior="occasional",
    predicts={
        "target-network-still": "always",
        "reward-flat": "often",
        "values-beyond-returns": "sometimes",
        "value-loss-grows": "sometimes",
        "reward-falls": "sometimes",
        "terminals-bootstrapped": "rarely",
        "discount-off": "rarely",
        "replay-repeats": "rarely",
        "reward-reversed": "rarely",
        "exploration-missing": "rarely",
    },
    look_alikes={
        "terminal-not-masked": "the target network follows, and ends of episodes count the next value",
        "value-explosion": "the target network follows slowly and values grow all the same",
        "replay-degenerate": "the networks are fine and the batches hold the same transitions",
    },
    fixes=("update-target-network",),
    do_not=(
        "train longer: targets of a network that never learnt do not improve",
        "lower the learning rate because of swings: targets still move with every update",
        "remove the target network",
    ),
    log_visible=False,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "no copy in 6000 updates",
            present=("target-network-still", "reward-flat"),
            absent=("terminals-bootstrapped", "discount-off"),
        ),
        Case("fires", "nothing but the recording shows it", present=("target-network-still",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "target-network-still")),
        Case(
            "look-alike",
            "ends are not masked",
            present=("terminals-bootstrapped", "value-loss-grows"),
            absent=("target-network-still",),
            expects="terminal-not-masked",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
