"""Cause: the clipping of the policy loss never acts."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The clip fraction is exactly 0 in every row although each update moves the policy far. The training is unstable: good
stretches end in collapses.

## Why it happens
The range is far too wide (0.2 meant, 20 given; logarithms compared with ratios), the clipped term is computed and not
used, the `min` is a `max`, or clipping is applied to log-probabilities or to the advantage. Policy steps are then as
long as the optimizer makes them.

## How to tell it from its look-alikes
At small learning rates and with one update a batch a clip fraction of 0 is normal: GRPO for language models shows 0
to 0.01. It counts where the KL of an update is large. `old-logprobs-recomputed` has a ratio of exactly 1 and a KL of
exactly 0.

## How to fix it
1. `mend-clipping`: minimum of both terms, range 0.1 to 0.3.
2. `lower-lr`, fewer passes.

## What NOT to do
- Do not add a KL penalty on top: the hole stays.
- Do not widen the range: it does not act as it is.
- Do not stop on the KL of the update alone: it comes after the step.

## References
- Schulman et al., *Proximal Policy Optimization Algorithms*, 2017.
- Huang et al., *The 37 Implementation Details of Proximal Policy Optimization*, ICLR blog track 2022.
- Engstrom et al., *Implementation Matters in Deep RL*, ICLR 2020.
"""

CAUSE = Cause(
    id="clip-inactive",
    title="clipping that never acts",
    group="policy",
    check="print the clip fraction and the KL of an update: 0 with a large KL if so",
    prior="rare",
    predicts={
        "clip-fraction-extreme": "usually",
        "kl-high": "often",
        "divergence": "often",
        "reward-falls": "sometimes",
        "entropy-low": "sometimes",
        "ratio-pinned": "never",
        "reward-flat": "sometimes",
        "flat-from-start": "sometimes",
        "reward-spread-zero": "rarely",
        "sampler-disagrees": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "old-logprobs-recomputed": "the ratio is exactly 1 and the KL of an update exactly 0",
        "advantages-not-normalized": "the clip fraction is large, not 0",
        "healthy": "updates are small, so that nothing needs clipping",
    },
    fixes=("mend-clipping", "lower-lr"),
    do_not=(
        "add a KL penalty on top: the hole stays",
        "widen the range: it does not act as it is",
        "stop on the KL of the update alone: it comes after the step",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "nothing is clipped while updates move far",
            present=("clip-fraction-extreme", "kl-high"),
            absent=(
                "ratio-pinned",
                "sampler-disagrees",
                "sampler-drifts",
                "entropy-low",
                "length-at-limit",
                "length-drifts",
                "value-loss-grows",
            ),
            within=3,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "a ratio of exactly 1",
            present=("ratio-pinned",),
            absent=("clip-fraction-extreme",),
            expects="old-logprobs-recomputed",
        ),
        Case("missing", "only a large KL", present=("kl-high",), absent=()),
    ),
    log_visible=False,
    needs="the ratio before and after clipping (a live recording of the training)",
)
