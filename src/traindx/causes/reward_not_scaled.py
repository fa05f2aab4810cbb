"""Cause: rewards of a size that the critic and the coefficients were not made for."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The value loss is in the thousands or millions and grows, the explained variance stays around 0, and the policy learns
slowly or not at all. Gradient norms are ruled by the critic.

## Why it happens
A critic that starts near 0 must reach returns of hundreds or thousands; its squared error grows with the square of
them. With a shared trunk, or one clipping of the gradient norm for both, the value loss takes the whole update.
Entropy and KL weights, tuned for rewards of about one, count for nothing beside rewards of a thousand, and for
everything beside rewards of a thousandth.

## How to tell it from its look-alikes
Compare the value loss with the square of the return: of the same order it is a matter of scale. If it grows *beyond*
the returns, the targets feed on themselves (value explosion: no target network, bootstrapping through ends). `lr-too-
high` shows in the policy too: KL and clip fraction are large.

## How to fix it
1. `scale-rewards`: by the running spread of the return. Normalised advantages help the policy, not the critic.
2. Separate the critic's network or its gradient clipping.
3. `lower-lr` as a stopgap.

## What NOT to do
- Do not clip rewards to the sign without thinking: different tasks become the same.
- Do not lower the value coefficient to nothing: a critic that does not learn is no baseline.
- Do not raise the learning rate of the critic: its targets are far away, not its steps short.

## References
- Engstrom et al., *Implementation Matters in Deep RL*, ICLR 2020.
- van Hasselt et al., *Learning values across many orders of magnitude*, NeurIPS 2016 (PopArt).
- Huang et al., *The 37 Implementation Details of Proximal Policy Optimization*, ICLR blog track 2022.
"""

CAUSE = Cause(
    id="reward-not-scaled",
    title="rewards not scaled",
    group="reward",
    check="print the standard deviation of the returns of one batch: of order 1 is expected",
    prior="common",
    predicts={
        "advantages-unscaled": "sometimes",
        "values-below-rewards": "usually",
        "values-beyond-returns": "rarely",
        "value-loss-grows": "usually",
        "reward-flat": "often",
        "exploding-gradients": "often",
        "reward-falls": "sometimes",
        "divergence": "sometimes",
        "plateau": "sometimes",
        "flat-from-start": "often",
        "kl-high": "rarely",
        "entropy-low": "rarely",
        "clip-fraction-extreme": "rarely",
        "reward-spread-zero": "rarely",
        "length-at-limit": "rarely",
        "margin-zero": "never",
        "nonfinite-loss": "sometimes",
    },
    look_alikes={
        "lr-too-high": "the policy is hit as well: KL and clip fraction are large",
        "exploding-gradients": "gradient norms grow through depth or time, not with the returns",
        "advantages-not-normalized": "there is no critic, or it is fine; the policy's steps are too large",
    },
    fixes=("scale-rewards", "lower-lr"),
    do_not=(
        "clip rewards to the sign without thinking: different tasks become the same",
        "lower the value coefficient to nothing: a critic that does not learn is no baseline",
        "raise the learning rate of the critic: its targets are far away, not its steps short",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the value loss grows a thousandfold, the return stands still, the policy moves little",
            present=("value-loss-grows", "reward-flat"),
            absent=("kl-high", "clip-fraction-extreme", "nonfinite-loss", "entropy-low", "length-at-limit"),
            within=2,
        ),
        Case("fires", "nothing but the recording shows it", present=("values-below-rewards",)),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "the loss swings and spikes, updates are huge",
            present=("divergence", "oscillation", "loss-spike", "huge-updates"),
            absent=("value-loss-grows",),
            expects="lr-too-high",
        ),
        Case("missing", "only that the return does not rise", present=("reward-flat",), absent=()),
    ),
)
