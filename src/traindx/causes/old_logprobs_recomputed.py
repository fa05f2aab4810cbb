"""Cause: the old log-probabilities come from the updated policy."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The ratio is exactly 1 and the KL of an update exactly 0 in every row, the clip fraction is 0, although each batch of
samples is used several times. The training may learn, but it is unstable: nothing bounds its steps.

## Why it happens
The ratio compares the policy that is trained with the one that sampled. If both are computed in the same pass, the
old one inside the loop, from the same module after `optimizer.step()`, or without storing it with the sample, they
are equal. The value of the loss is then the plain policy gradient, and clipping and KL early stopping never act.

## How to tell it from its look-alikes
With one update a batch a ratio of 1 is right: this counts only where samples are used again. `clip-inactive` has
ratios that move and a clip fraction of 0. If the weights do not change at all (`params-not-in-optimizer`, a learning
rate of 0) the ratio is 1 as well: look whether the reward and the weights move.

## How to fix it
1. `store-old-logprobs`: once, without gradient, before the first pass.
2. `lower-lr` until that is done: the passes are not bounded.

## What NOT to do
- Do not narrow the clip range: it never acts.
- Do not add passes: each goes further without a bound.
- Do not read a clip fraction of 0 as calm.

## References
- Schulman et al., *Proximal Policy Optimization Algorithms*, 2017.
- Huang et al., *The 37 Implementation Details of Proximal Policy Optimization*, ICLR blog track 2022.
- Hilton et al., *Batch size-invariance for policy optimization*, NeurIPS 2022 (which policy the ratio is taken to).
"""

CAUSE = Cause(
    id="old-logprobs-recomputed",
    title="old log-probabilities of the new policy",
    group="policy",
    check="print the ratio in the first update of a batch: it must be exactly 1",
    prior="occasional",
    predicts={
        "ratio-pinned": "always",
        "clip-fraction-extreme": "rarely",
        "kl-high": "sometimes",
        "divergence": "sometimes",
        "reward-flat": "sometimes",
        "flat-from-start": "sometimes",
        "entropy-low": "sometimes",
        "reward-falls": "sometimes",
        "reward-spread-zero": "rarely",
        "plateau": "sometimes",
        "sampler-disagrees": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "clip-inactive": "the ratio moves, and is still never clipped",
        "params-not-in-optimizer": "the weights do not change at all",
        "lr-too-low": "the ratio moves a little: 1e-4, not 0",
    },
    fixes=("store-old-logprobs", "lower-lr"),
    do_not=(
        "narrow the clip range: it never acts",
        "add passes: each goes further without a bound",
        "read a clip fraction of 0 as calm",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "a ratio of exactly 1 in four passes",
            present=("ratio-pinned",),
            absent=("clip-fraction-extreme", "sampler-disagrees", "reward-spread-zero"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "a clip fraction of 0 while an update moves far",
            present=("clip-fraction-extreme", "kl-high"),
            absent=("ratio-pinned",),
            expects="clip-inactive",
        ),
        Case("missing", "only that the reward does not rise", present=("reward-flat",), absent=()),
    ),
)
