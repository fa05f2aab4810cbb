"""Cause: the policy is held so close to the reference that it hardly changes."""

from __future__ import annotations

from traindx.causes.base import PREFERENCE, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The loss falls quickly to a low plateau or jumps about, margins are large numbers, and the answers are those of the
reference: a win rate of one half. Divided by beta the margin is a fraction of a nat.

## Why it happens
The implicit reward is beta times the log ratio. With a beta of 5 instead of 0.1 a log ratio of 0.2 nats already gives
a margin of 1 and a small loss, so the gradient vanishes before anything has changed. IPO, SimPO and KTO have scales
of their own: a beta taken from another method is off by ten.

## How to tell it from its look-alikes
Compare log-probabilities, not rewards: `logps/chosen` and `logps/rejected` hardly move while the margin is large.
With a learning rate that is too low both stand still. With a beta that is too *small* the opposite shows: margins of
0.01, log-probabilities that collapse, a policy that forgets.

## How to fix it
1. `check-pairs`: labels that contradict each other give a plateau too.
2. `lower-beta` by factors of three.

## What NOT to do
- Do not raise the learning rate: the loss gets noisy, the pull stays.
- Do not train for more epochs: the gradient is gone.
- Do not judge by the margin: it holds beta as a factor.

## References
- Rafailov et al., *Direct Preference Optimization*, NeurIPS 2023.
- Azar et al., *A General Theoretical Paradigm to Understand Learning from Human Preferences*, AISTATS 2024 (IPO).
- Wu et al., *beta-DPO: Direct Preference Optimization with Dynamic beta*, NeurIPS 2024.
"""

CAUSE = Cause(
    id="dpo-beta-too-large",
    title="beta too large",
    group="preference",
    check="compare logps/chosen with its first value: hardly moved beside a large margin if so",
    prior="occasional",
    predicts={
        "beta-large": "always",
        "plateau": "often",
        "oscillation": "sometimes",
        "loss-spike": "sometimes",
        "flat-from-start": "rarely",
        "margin-zero": "never",
        "divergence": "rarely",
        "overfitting-gap": "rarely",
        "kl-high": "never",
        "nonfinite-loss": "rarely",
        "reward-flat": "never",
    },
    look_alikes={
        "lr-too-low": "neither margins nor log-probabilities move",
        "dpo-reference-is-policy": "the margin is 0, not large",
        "overfitting": "held-out accuracy falls while training goes on",
    },
    fixes=("check-pairs", "lower-beta"),
    do_not=(
        "raise the learning rate: the loss gets noisy, the pull stays",
        "train for more epochs: the gradient is gone",
        "judge by the margin: it holds beta as a factor",
    ),
    doc=DOC,
    only_with=PREFERENCE,
    cases=(
        Case(
            "fires",
            "a low plateau with noise, margins that are large",
            present=("plateau", "oscillation"),
            absent=("margin-zero", "kl-high", "divergence", "reward-flat", "overfitting-gap"),
            within=30,
        ),
        Case("fires", "nothing but the recording shows it", present=("beta-large",)),
        Case(
            "healthy",
            "loss falls from 0.69, margin and accuracy rise",
            absent=(*CALM_CURVES, *CALM_POLICY, "beta-large"),
        ),
        Case(
            "look-alike",
            "margins of 0",
            present=("margin-zero", "flat-from-start"),
            absent=(),
            expects="dpo-reference-is-policy",
        ),
        Case("missing", "only a plateau", present=("plateau",), absent=()),
    ),
    log_visible=False,
    needs="beta, and how far the log-probabilities moved (logps/chosen, logps/rejected)",
)
