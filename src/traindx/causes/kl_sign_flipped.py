"""Cause: the KL term pushes the policy away from the reference."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The KL divergence grows from the first step on, faster and faster, and the loss falls below zero with it. The reward
falls soon, answers turn into noise.

## Why it happens
The penalty is subtracted from the loss, or added to the reward, so the optimizer is paid for every nat of distance.
Common ways: `reward + beta * kl`, `loss - beta * kl`, reference minus policy in an estimator that is not symmetric,
an adaptive controller whose error is turned.

## How to tell it from its look-alikes
In `kl-runaway` the KL grows because the pull back is too weak: it starts slowly and follows the reward. With a
flipped sign it grows at once and also where the reward is set to 0, which is the test. A KL that is logged *below
zero* for long shows a flipped log ratio. `reward-sign-flipped` falls with an ordinary KL.

## How to fix it
1. `mend-kl-term`: write the estimator so that it cannot be negative, and check its sign in the loss.
2. Start again from the reference: the present weights were paid to leave it.

## What NOT to do
- Do not raise beta: the push gets stronger.
- Do not clip gradients: the direction stays wrong.
- Do not lower the learning rate: it only leaves more slowly.

## References
- Schulman, *Approximating KL Divergence*, 2020 (joschu.net/blog/kl-approx.html).
- Ziegler et al., *Fine-Tuning Language Models from Human Preferences*, 2019.
- Shao et al., *DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models*, 2024 (GRPO).
"""

CAUSE = Cause(
    id="kl-sign-flipped",
    title="KL term with the wrong sign",
    group="policy",
    check="check the sign: the KL term is added to a loss and subtracted from a reward",
    prior="rare",
    predicts={
        "outcome-poor": "sometimes",
        "kl-pushed-up": "always",
        "reward-reversed": "rarely",
        "kl-high": "always",
        "reward-falls": "usually",
        "divergence": "often",
        "negative-loss": "often",
        "reward-flat": "rarely",
        "entropy-low": "rarely",
        "length-at-limit": "sometimes",
        "length-drifts": "sometimes",
        "clip-fraction-extreme": "sometimes",
        "proxy-and-score-part": "rarely",
        "reward-spread-zero": "rarely",
        "nonfinite-loss": "sometimes",
        "margin-zero": "never",
        "sampler-disagrees": "rarely",
    },
    look_alikes={
        "kl-runaway": "grows slowly at first and follows the reward; here it grows at once, without any reward",
        "reward-sign-flipped": "the KL divergence stays ordinary",
        "lr-too-high": "KL within one update is large too",
    },
    fixes=("mend-kl-term",),
    do_not=(
        "raise beta: the push gets stronger",
        "clip gradients: the direction stays wrong",
        "lower the learning rate: it only leaves more slowly",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "the KL grows from the start, the loss falls below zero and so does the reward",
            present=("kl-high", "reward-falls", "negative-loss"),
            absent=("entropy-low", "proxy-and-score-part", "sampler-disagrees", "reward-flat"),
            within=2,
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "the reward falls with an ordinary KL",
            present=("reward-falls",),
            absent=("kl-high",),
            expects="reward-sign-flipped",
        ),
        Case("missing", "only a large KL", present=("kl-high",), absent=()),
    ),
)
