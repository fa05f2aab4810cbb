"""Cause: advantages of the wrong size or relative to the wrong mean."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Clip fraction and KL of an update are large from the start, or the policy hardly moves at all; both change with the
scale of the reward. With the wrong axis the reward stands still although every number looks ordinary.

## Why it happens
The length of a policy step is learning rate times advantage. Rewards of 100 make steps a hundred times too long,
rewards of 0.01 as much too short. Normalised over the wrong axis, answers to different prompts are compared: easy
prompts then always win and hard ones always lose, whatever was answered. Normalised over a micro-batch of one, the
advantage is 0 or NaN.

## How to tell it from its look-alikes
Divide the rewards by ten: if the trouble goes, it was the scale. `lr-too-high` looks the same in a log and is cured
by the same factor; the size of the advantages, which trainers log as a mean and a maximum, tells them apart. A value
loss that explodes points to `reward-not-scaled`. `reward-answer-misaligned` has advantages of the right size on the
wrong answers.

## How to fix it
1. `normalise-advantages` over the batch, along the right axis.
2. `scale-rewards` where a critic learns them too.
3. `lower-lr` as a stopgap.

## What NOT to do
- Do not tune clip range and learning rate around it: the scale changes as the policy learns.
- Do not normalise over a micro-batch of a few answers: its spread is noise.
- Do not divide by the spread of a group without an epsilon: equal rewards give NaN.

## References
- Huang et al., *The 37 Implementation Details of Proximal Policy Optimization*, ICLR blog track 2022.
- Andrychowicz et al., *What Matters In On-Policy Reinforcement Learning?*, ICLR 2021.
- Liu et al., *Understanding R1-Zero-Like Training: A Critical Perspective*, 2025 (Dr. GRPO).
"""

CAUSE = Cause(
    id="advantages-not-normalized",
    title="advantages not normalised",
    group="policy",
    check="print the mean and standard deviation of the advantages of one batch: 0 and 1 are expected",
    prior="occasional",
    predicts={
        "advantages-unscaled": "always",
        "reward-reversed": "rarely",
        "advantages-off-rewards": "rarely",
        "clip-fraction-extreme": "often",
        "kl-high": "often",
        "divergence": "often",
        "reward-flat": "often",
        "flat-from-start": "often",
        "reward-falls": "sometimes",
        "entropy-low": "often",
        "exploding-gradients": "often",
        "reward-spread-zero": "rarely",
        "value-loss-grows": "sometimes",
        "sampler-disagrees": "never",
        "sampler-drifts": "never",
        "length-at-limit": "rarely",
        "ratio-pinned": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "lr-too-high": "the advantages are of the size of one and the rate is what is large",
        "reward-not-scaled": "it is the value loss that explodes",
        "clip-inactive": "the clip fraction is 0, not large",
    },
    fixes=("normalise-advantages", "scale-rewards", "lower-lr"),
    do_not=(
        "tune clip range and learning rate around it: the scale changes as the policy learns",
        "normalise over a micro-batch of a few answers: its spread is noise",
        "divide by the spread of a group without an epsilon: equal rewards give NaN",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "most terms are clipped, the policy moves far and loses its entropy",
            present=("clip-fraction-extreme", "kl-high", "entropy-low"),
            absent=("sampler-disagrees", "sampler-drifts", "value-loss-grows", "reward-spread-zero", "length-at-limit"),
            within=3,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "trainer and sampler disagree",
            present=("sampler-disagrees", "clip-fraction-extreme"),
            absent=(),
            expects="sampler-mismatch",
        ),
        Case("missing", "only many clipped terms", present=("clip-fraction-extreme",), absent=()),
    ),
    log_visible=False,
    needs="the advantages themselves (a live recording of the training)",
)
