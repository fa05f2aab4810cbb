"""Cause: values grow without bound."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Q-values or values, and with them the value loss, grow by orders of magnitude; the return collapses or never comes.
The last rows may hold Inf or NaN.

## Why it happens
Each target contains the network's own estimate. Where the largest of several noisy estimates is taken, errors are
selected and fed back; a high rate, large rewards, a target that moves at once or data far from the policy make the
loop gain larger than 1. Then values grow by a factor at every round.

## How to tell it from its look-alikes
Look first for wiring that does the same: ends that are not masked (`terminal-not-masked`), a target network that is
copied at every update (`target-network-stale`), a discount above 1 (`discount-wrong`). Rewards of hundreds give large
values that are right: compare with the largest reward by 1 - discount.
Returns of single runs differ by chance: five seeds of each variant settle whether a change helped (Henderson et al.
2018), and a recording settles most of the wiring in one.

## How to fix it
1. `update-target-network` more slowly, or two critics and the smaller of the two.
2. `clip-gradients`, and `lower-lr` of the critic.
3. `scale-rewards`: rewards of about 1.

## What NOT to do
- Do not clip values to the size you expect before the cause is known.
- Do not raise the discount to get higher returns.

## References
- van Hasselt et al., *Deep Reinforcement Learning and the Deadly Triad*, 2018.
- van Hasselt, Guez and Silver, *Deep Reinforcement Learning with Double Q-learning*, AAAI 2016.
- Fujimoto et al., *Addressing Function Approximation Error in Actor-Critic Methods*, ICML 2018.
"""

CAUSE = Cause(
    id="value-explosion",
    title="values grow without bound",
    group="classic",
    check="plot the mean Q or value: it should stay near the returns",
    prior="common",
    predicts={
        "values-beyond-returns": "always",
        "value-loss-grows": "usually",
        "reward-falls": "sometimes",
        "reward-flat": "often",
        "exploding-gradients": "sometimes",
        "nonfinite-loss": "sometimes",
        "terminals-bootstrapped": "rarely",
        "discount-off": "rarely",
        "target-network-still": "rarely",
        "replay-repeats": "rarely",
        "exploration-missing": "rarely",
        "reward-reversed": "rarely",
    },
    look_alikes={
        "terminal-not-masked": "ends of episodes count the next value",
        "target-network-stale": "the target network is copied at every update or never",
        "discount-wrong": "the discount is above 1",
    },
    fixes=("update-target-network", "clip-gradients", "lower-lr", "scale-rewards"),
    do_not=(
        "clip values to the size you expect before the cause is known",
        "raise the discount to get higher returns",
    ),
    log_visible=True,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "values are ninety times the largest return",
            present=("values-beyond-returns", "value-loss-grows"),
            absent=("terminals-bootstrapped", "target-network-still", "discount-off"),
        ),
        Case("fires", "nothing but the recording shows it", present=("values-beyond-returns",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "values-beyond-returns")),
        Case(
            "look-alike",
            "ends are not masked",
            present=("terminals-bootstrapped", "values-beyond-returns", "value-loss-grows"),
            absent=(),
            expects="terminal-not-masked",
        ),
        Case("missing", "a value loss that grows", present=("value-loss-grows",)),
    ),
)
