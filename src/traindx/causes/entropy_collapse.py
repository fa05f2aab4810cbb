"""Cause: the policy loses its randomness before it has found good answers."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The entropy falls to a few per cent of its early level within the first part of the run. The reward rises a little, or
not at all, and then stands still. Answers to one prompt become nearly the same text, so that rewards within a group
become equal too.

## Why it happens
Policy gradients make rewarded actions more probable. Where likely actions are rewarded first, probability
concentrates on them and unlikely ones are never tried again. Clipping at equal distance makes it worse: a token of
probability 0.01 may grow to 0.012 at most in one update, one of 0.9 is free (DAPO). A learning rate that is too high,
no entropy bonus, many passes over the same samples and a low sampling temperature speed it up. The reachable score is
tied to the entropy that is left (Cui et al. 2025).

## How to tell it from its look-alikes
An entropy that falls *while the reward rises to its best* is learning, not collapse. If the rewards within groups
were equal from the first step, nothing was learnt at all (`zero-reward-variance`) and the entropy did not fall. If
the KL runs away at the same time, the policy is driven somewhere rather than settling (`kl-runaway`). In classic
control the schedule of exploration may be gone at once: look at epsilon or the entropy coefficient.

## How to fix it
1. `keep-entropy`, from a checkpoint before the fall: a wider upper clip range, a small bonus.
2. `lower-lr`.
3. `vary-rewards`: more generations and temperature 1.

## What NOT to do
- Do not raise the temperature now: a sharp policy stays sharp, only its errors grow.
- Do not go on from the collapsed checkpoint: nothing new is sampled there.
- Do not add a large entropy bonus: the policy then maximises the bonus.

## References
- Cui et al., *The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models*, 2025.
- Yu et al., *DAPO: An Open-Source LLM Reinforcement Learning System at Scale*, 2025. Section 3.1, clip-higher.
- Mnih et al., *Asynchronous Methods for Deep Reinforcement Learning*, ICML 2016 (entropy bonus).
- verl-project/verl issue 5953.
"""

CAUSE = Cause(
    id="entropy-collapse",
    title="entropy collapse",
    group="policy",
    check="plot the policy's entropy: near zero while the return still changes is too early",
    prior="common",
    predicts={
        "entropy-pushed-down": "often",
        "reward-reversed": "rarely",
        "exploration-missing": "sometimes",
        "entropy-low": "always",
        "reward-flat": "often",
        "plateau": "often",
        "divergence": "sometimes",
        "reward-spread-zero": "often",
        "reward-falls": "sometimes",
        "kl-high": "sometimes",
        "clip-fraction-extreme": "sometimes",
        "length-drifts": "sometimes",
        "flat-from-start": "sometimes",
        "proxy-and-score-part": "rarely",
        "length-at-limit": "sometimes",
        "margin-zero": "never",
        "sampler-disagrees": "rarely",
        "nonfinite-loss": "rarely",
    },
    look_alikes={
        "zero-reward-variance": "rewards are equal from the first step and the entropy does not fall",
        "kl-runaway": "the KL divergence runs away with it",
        "healthy": "the entropy falls while the reward rises to its best and stays there",
    },
    fixes=("keep-entropy", "lower-lr", "vary-rewards"),
    do_not=(
        "raise the temperature now: a sharp policy stays sharp, only its errors grow",
        "go on from the collapsed checkpoint: nothing new is sampled there",
        "add a large entropy bonus: the policy then maximises the bonus",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the entropy is used up, the reward rose a little and stands still",
            present=("entropy-low", "plateau"),
            absent=("kl-high", "sampler-disagrees", "proxy-and-score-part", "reward-falls"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "rewards equal from the start, the entropy is fine",
            present=("reward-spread-zero", "reward-flat"),
            absent=("entropy-low",),
            expects="zero-reward-variance",
        ),
        Case("missing", "only that the reward stopped", present=("plateau",), absent=()),
    ),
)
