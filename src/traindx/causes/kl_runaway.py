"""Cause: nothing holds the policy near where it began."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The KL divergence to the reference is small for a while, then grows exponentially, by orders of magnitude within tens
of steps. Around that point the reward collapses or its answers become strange, gradient norms jump, lengths go to one
extreme.

## Why it happens
Each update is made on samples of the present policy, so that a policy that has gone too far samples from there and
has no way back. The pull is missing: a KL coefficient of 0 (the default of several trainers), one that is too small
beside the size of the advantages, a learning rate that is too high, too many passes over old samples, advantages that
are not normalised.

## How to tell it from its look-alikes
`reward-sign-flipped` falls without a large KL. `sampler-mismatch` and `stale-sampler` cause runaways too and show in
the comparison of trainer and sampler, where one is logged: look there first. A KL that grows slowly while the reward
rises is normal without a KL term. `kl-sign-flipped` grows from the very first step.

## How to fix it
1. `lower-lr`, from a checkpoint before the runaway.
2. `mend-kl-term`: a coefficient of 0.001 to 0.05 a token.
3. `normalise-advantages`, fewer passes over the same samples.
4. `match-sampler` where the two engines differ.

## What NOT to do
- Do not clip gradients only: many small steps go as far as one large one.
- Do not go on from the end: the samples come from there.
- Do not judge by the loss: it holds the KL term and rises with it.

## References
- Ziegler et al., *Fine-Tuning Language Models from Human Preferences*, 2019.
- Gao, Schulman and Hilton, *Scaling Laws for Reward Model Overoptimization*, ICML 2023.
- Schulman et al., *Proximal Policy Optimization Algorithms*, 2017.
- rllm-org/rllm issue 116.
"""

CAUSE = Cause(
    id="kl-runaway",
    title="KL runaway",
    group="policy",
    check="plot the KL term: it grows without bound",
    prior="common",
    predicts={
        "kl-pushed-up": "rarely",
        "kl-high": "always",
        "divergence": "usually",
        "reward-falls": "often",
        "exploding-gradients": "often",
        "entropy-low": "sometimes",
        "length-at-limit": "often",
        "length-drifts": "often",
        "clip-fraction-extreme": "often",
        "proxy-and-score-part": "sometimes",
        "reward-flat": "rarely",
        "reward-spread-zero": "sometimes",
        "nonfinite-loss": "sometimes",
        "sampler-disagrees": "rarely",
        "sampler-drifts": "rarely",
        "negative-loss": "rarely",
        "margin-zero": "never",
        "ratio-pinned": "rarely",
    },
    look_alikes={
        "kl-sign-flipped": "grows from the very first step, and without any reward",
        "sampler-mismatch": "trainer and sampler disagree on the same tokens",
        "reward-hacking": "the reward rises all the way while another score falls",
    },
    fixes=("lower-lr", "mend-kl-term", "normalise-advantages", "match-sampler"),
    do_not=(
        "clip gradients only: many small steps go as far as one large one",
        "go on from the end: the samples come from there",
        "judge by the loss: it holds the KL term and rises with it",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the KL grows tenfold, then the reward collapses and lengths run off",
            present=("kl-high", "divergence", "length-drifts"),
            absent=("sampler-disagrees", "sampler-drifts", "negative-loss", "proxy-and-score-part", "ratio-pinned"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "trainer and sampler disagree from the start",
            present=("sampler-disagrees", "kl-high", "reward-falls"),
            absent=(),
            expects="sampler-mismatch",
        ),
        Case("missing", "only a large KL", present=("kl-high",), absent=()),
    ),
)
