"""Cause: replay buffer with few transitions."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The loss of the value falls to almost nothing and the return stays low or swings: the same few transitions are
learnt by heart.

## Why it happens
A replay buffer is there so that updates see different situations. It fails silently: a capacity of a few entries,
an index that does not move, the same array stored again and again (environments may reuse their buffers: store
copies), or sampling from the newest entries only.

## How to tell it from its look-alikes
A task with a handful of states repeats transitions by nature. Print the number of different rows of a batch: in a
task with continuous observations nearly all differ. Returns of single runs differ by chance: five seeds of each
variant settle whether a change helped (Henderson et al. 2018), and a recording settles most of the wiring in one.

## How to fix it
1. `fill-replay-buffer`: capacity of 10 000 or more, copies, uniform sampling, a start after a thousand steps.

## What NOT to do
- Do not add updates for each step: the same transitions are learnt even better by heart.
- Do not lower the learning rate: what is seen does not change.

## References
- Lin, *Self-Improving Reactive Agents Based On Reinforcement Learning, Planning and Teaching*, 1992.
- Mnih et al., *Human-level control through deep reinforcement learning*, Nature 2015.
- Fedus et al., *Revisiting Fundamentals of Experience Replay*, ICML 2020.
"""

CAUSE = Cause(
    id="replay-degenerate",
    title="replay buffer with few transitions",
    group="classic",
    check="print the number of different rows in one replay batch: nearly all should differ",
    prior="rare",
    predicts={
        "replay-repeats": "always",
        "reward-flat": "often",
        "reward-falls": "sometimes",
        "value-loss-grows": "sometimes",
        "values-beyond-returns": "sometimes",
        "terminals-bootstrapped": "rarely",
        "discount-off": "rarely",
        "target-network-still": "rarely",
        "reward-reversed": "rarely",
        "exploration-missing": "rarely",
    },
    look_alikes={
        "exploration-gone": "transitions differ, and actions are all alike",
        "target-network-stale": "transitions differ, and targets never move",
    },
    fixes=("fill-replay-buffer",),
    do_not=(
        "add updates for each step: the same transitions are learnt even better by heart",
        "lower the learning rate: what is seen does not change",
    ),
    log_visible=False,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "a buffer of eight entries",
            present=("replay-repeats", "reward-flat"),
            absent=("target-network-still", "terminals-bootstrapped"),
        ),
        Case("fires", "nothing but the recording shows it", present=("replay-repeats",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "replay-repeats")),
        Case(
            "look-alike",
            "no copy in 6000 updates",
            present=("target-network-still", "reward-flat"),
            absent=("replay-repeats",),
            expects="target-network-stale",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
