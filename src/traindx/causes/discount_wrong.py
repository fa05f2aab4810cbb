"""Cause: wrong discount."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The policy learns something short-sighted and stops: it collects what is near and ignores what follows. Or values grow
without end. In a log it looks like any return that stays low.

## Why it happens
The discount decides how many steps count: about 1 / (1 - discount). At 0.5 that is two steps; above 1 the sum of
rewards has no bound. It also goes wrong silently: applied twice, applied to the reward of the step itself, taken to
the power of the wrong index, or a return that begins with the next step.

## How to tell it from its look-alikes
Rewards that are too rare and too little exploration leave the return low too, with a factor that is as it was set.
Fit the factor: (return(t) - reward(t)) by return(t + 1) is the same number at every step, and it must be the one
you set. Returns of single runs differ by chance: five seeds of each variant settle whether a change helped
(Henderson et al. 2018), and a recording settles most of the wiring in one.

## How to fix it
1. `set-discount`: 0.99 is the usual start; choose it by the length of what matters.

## What NOT to do
- Do not raise the learning rate: the target itself is short-sighted.
- Do not shape the reward until a discount of 0.5 works: the task is then another one.

## References
- Sutton and Barto, *Reinforcement Learning: An Introduction*, 2nd edition, 2018. Section 3.3.
- Raffin, *RL Baselines3 Zoo* (tuned settings: 0.9 to 0.9999).
- Henderson et al., *Deep Reinforcement Learning That Matters*, AAAI 2018.
"""

CAUSE = Cause(
    id="discount-wrong",
    title="wrong discount",
    group="classic",
    check="print (return(t) - reward(t)) / return(t + 1): it must be the discount that you set",
    prior="occasional",
    predicts={
        "discount-off": "always",
        "reward-flat": "often",
        "value-loss-grows": "sometimes",
        "values-beyond-returns": "sometimes",
        "terminals-bootstrapped": "rarely",
        "target-network-still": "rarely",
        "replay-repeats": "rarely",
        "reward-reversed": "rarely",
        "exploration-missing": "rarely",
    },
    look_alikes={
        "terminal-not-masked": "the factor is right, and ends of episodes are not masked",
        "exploration-gone": "the factor is right, and next to no action is random",
        "value-explosion": "the factor is below 1 and as set",
    },
    fixes=("set-discount",),
    do_not=(
        "raise the learning rate: the target itself is short-sighted",
        "shape the reward until a discount of 0.5 works: the task is then another one",
    ),
    log_visible=False,
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "a discount of 0.3 in episodes of 100 steps",
            present=("discount-off", "reward-flat"),
            absent=("terminals-bootstrapped", "target-network-still"),
        ),
        Case("fires", "nothing but the recording shows it", present=("discount-off",)),
        Case("healthy", "nothing of the kind", absent=(*CALM_CURVES, *CALM_POLICY, "discount-off")),
        Case(
            "look-alike",
            "next to no action is random",
            present=("exploration-missing", "reward-flat"),
            absent=("discount-off",),
            expects="exploration-gone",
        ),
        Case("missing", "a return that does not rise", present=("reward-flat",)),
    ),
)
