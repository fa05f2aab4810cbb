"""Cause: trainer and sampler compute other probabilities for the same tokens."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
The comparison of trainer and sampler (`rollout_probs_diff`, `sampling_logp_difference`, `token_mult_prob_error`,
`gen_kl_error`) is off from the first step on. The reward rises for a while and then collapses, gradient norms jump,
some tokens have importance ratios far outside 0.5 to 2.

## Why it happens
Samples are made by a fast engine and trained on in another. Different kernels and precision give small differences
that grow over long answers; quantised samplers, mixtures of experts with other routing, a temperature, top-k or
repetition penalty that only the sampler applies, a template or tokenisation that is done twice give large ones. The
method is then off-policy without knowing it, and tokens that the sampler found likely and the trainer unlikely get
huge weights.

## How to tell it from its look-alikes
`stale-sampler` begins in agreement and grows. Rounding alone stays below about 0.03 nats a token. Take one prompt,
sample greedily, and compare the log-probabilities token by token: a difference at the first token means template or
temperature, one that grows means kernels, single tokens mean routing or special tokens.

## How to fix it
1. `match-sampler`: temperature, precision, template; then truncated importance weights.
2. `send-weights-to-sampler`, to be sure that the weights are equal.
3. `lower-lr` while it is not found.

## What NOT to do
- Do not raise the KL coefficient: the difference is not a distance to the reference.
- Do not drop the ratio and train as if on-policy: that is how it collapses.
- Do not average the difference away: single tokens do the harm.

## References
- Yao et al., *Your Efficient RL Framework Secretly Brings You Off-Policy RL Training*, 2025.
- Liu et al., *When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch*, 2025.
- NVIDIA-NeMo/RL issue 2260, gen_kl_error of 0.15 to 1.75.
- verl-project/verl pull request 3694, metrics of the mismatch.
"""

CAUSE = Cause(
    id="sampler-mismatch",
    title="trainer and sampler do not agree",
    group="policy",
    check="compare log-probabilities of one answer from the sampler and from the trainer: equal to 0.01",
    prior="common",
    predicts={
        "sampler-disagrees": "always",
        "sampler-drifts": "sometimes",
        "divergence": "often",
        "kl-high": "often",
        "clip-fraction-extreme": "often",
        "exploding-gradients": "often",
        "reward-falls": "often",
        "entropy-low": "sometimes",
        "reward-flat": "sometimes",
        "flat-from-start": "sometimes",
        "reward-spread-zero": "rarely",
        "ratio-pinned": "rarely",
        "nonfinite-loss": "sometimes",
        "proxy-and-score-part": "rarely",
        "margin-zero": "never",
    },
    look_alikes={
        "stale-sampler": "the two agree at first and part later",
        "kl-runaway": "the two agree on the same tokens",
        "lr-too-high": "the two agree, and a lower rate cures it",
    },
    fixes=("match-sampler", "send-weights-to-sampler", "lower-lr"),
    do_not=(
        "raise the KL coefficient: the difference is not a distance to the reference",
        "drop the ratio and train as if on-policy: that is how it collapses",
        "average the difference away: single tokens do the harm",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "half a nat apart from the first row on, and the reward collapses",
            present=("sampler-disagrees", "divergence"),
            absent=("ratio-pinned", "reward-spread-zero"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "they agree at first and part later",
            present=("sampler-drifts",),
            absent=("sampler-disagrees",),
            expects="stale-sampler",
        ),
        Case("missing", "only that the reward collapsed", present=("divergence",), absent=()),
    ),
)
