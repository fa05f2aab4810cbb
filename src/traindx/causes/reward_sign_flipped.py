"""Cause: the reward, the advantage or the loss has the wrong sign."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The reward falls steadily from the first updates on and ends far below that of the starting model, often at the lowest
value there is. KL and entropy look ordinary: the policy learns well, only the opposite.

## Why it happens
Somewhere between reward and loss a sign is turned: a distance, an error or a loss is used as a reward; the advantage
is baseline minus reward; the loss is `advantage * log_prob` without the minus; a penalty is added that should be
subtracted. Policy gradients follow whatever sign they get.

## How to tell it from its look-alikes
A flipped sign falls *smoothly and steadily* from the start. Updates that are too large (`lr-too-high`, `kl-runaway`)
fall in jumps, with a KL that runs away. `kl-sign-flipped` shows a KL that grows from the first step. `reward-answer-
misaligned` stays flat, because the reward has nothing to do with the answer. The test costs one step: after a small
update on one batch the answers with the highest reward must be more probable than before.

## How to fix it
1. `look-at-rewards`: is the better answer the one with the higher number?
2. `flip-reward-sign`: mend the one sign that is turned, and start again from the initial weights.

## What NOT to do
- Do not lower the learning rate: it only falls more slowly.
- Do not raise the KL coefficient: it holds the policy back and hides the sign.
- Do not flip a second sign to compensate: the entropy and KL terms then have the wrong one.

## References
- Schulman et al., *Proximal Policy Optimization Algorithms*, 2017.
- Sutton and Barto, *Reinforcement Learning: An Introduction*, 2nd edition, chapter 13.
- Henderson et al., *Deep Reinforcement Learning That Matters*, AAAI 2018.
"""

CAUSE = Cause(
    id="reward-sign-flipped",
    title="reward with the wrong sign",
    group="reward",
    check="read the answers with the highest and the lowest reward",
    prior="occasional",
    predicts={
        "outcome-poor": "usually",
        "reward-reversed": "usually",
        "advantages-off-rewards": "rarely",
        "terminals-bootstrapped": "rarely",
        "discount-off": "rarely",
        "reward-falls": "always",
        "divergence": "often",
        "reward-flat": "never",
        "reward-spread-zero": "rarely",
        "kl-high": "sometimes",
        "entropy-low": "sometimes",
        "clip-fraction-extreme": "rarely",
        "proxy-and-score-part": "sometimes",
        "nonfinite-loss": "rarely",
        "length-drifts": "sometimes",
        "length-at-limit": "sometimes",
        "value-loss-grows": "rarely",
        "ratio-pinned": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "kl-runaway": "the KL divergence runs away before the reward falls; with a flipped sign it stays ordinary",
        "kl-sign-flipped": "the KL divergence grows from the first step on",
        "lr-too-high": "falls in jumps, after a rise or at once, with a large clip fraction",
    },
    fixes=("look-at-rewards", "flip-reward-sign"),
    do_not=(
        "lower the learning rate: it only falls more slowly",
        "raise the KL coefficient: it holds the policy back and hides the sign",
        "flip a second sign to compensate: the entropy and KL terms then have the wrong one",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the reward falls steadily, KL and clip fraction are ordinary",
            present=("reward-falls", "divergence"),
            absent=("kl-high", "clip-fraction-extreme", "sampler-disagrees", "reward-spread-zero", "entropy-low"),
            within=2,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "the KL runs away and the reward falls",
            present=("reward-falls", "kl-high", "divergence"),
            absent=(),
            expects="kl-runaway",
        ),
        Case("missing", "only that the reward falls", present=("reward-falls",), absent=()),
    ),
)
