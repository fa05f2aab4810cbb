"""Cause: samples come from weights that are no longer trained."""

from __future__ import annotations

from traindx.causes.base import POLICY, Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_POLICY

DOC = """\
## What you see
Trainer and sampler agree at first and part as the training goes on. The reward of the samples stands still although
the policy moves, or the training becomes unstable after a good start; clip fractions and importance ratios grow.

## Why it happens
The engine that samples has a copy of the weights. It is not updated, only partly (adapters that are not merged, tied
embeddings, names that do not match), too late (queues of an asynchronous set-up), or answers from a cache of keys
that belongs to older weights. The updates then improve a policy that nobody samples.

## How to tell it from its look-alikes
The course separates it from `sampler-mismatch`, which is there from the first step and stays about the same. Without
a logged comparison, a reward that does not react at all while the KL to the reference grows is a hint. The check
takes one line: log-probabilities of the same tokens from both, right after a transfer.

## How to fix it
1. `send-weights-to-sampler` after each update, caches cleared, and compare once.
2. Bound the age of samples in asynchronous runs.
3. `match-sampler`: truncated importance weights for what is left.

## What NOT to do
- Do not lower the learning rate: the gap only grows more slowly.
- Do not widen the clip range: it hides the age of the samples.
- Do not judge by the reward of the samples: it belongs to the old weights.

## References
- Espeholt et al., *IMPALA: Scalable Distributed Deep-RL*, ICML 2018 (policy lag and its correction).
- Noukhovitch et al., *Asynchronous RLHF*, ICLR 2025.
- Fu et al., *AReaL: A Large-Scale Asynchronous Reinforcement Learning System for Language Reasoning*, 2025.
"""

CAUSE = Cause(
    id="stale-sampler",
    title="sampler with old weights",
    group="policy",
    check="print when the sampler last got new weights",
    prior="occasional",
    predicts={
        "sampler-drifts": "always",
        "sampler-disagrees": "rarely",
        "reward-flat": "often",
        "flat-from-start": "often",
        "clip-fraction-extreme": "often",
        "kl-high": "often",
        "divergence": "often",
        "reward-falls": "sometimes",
        "entropy-low": "sometimes",
        "reward-spread-zero": "rarely",
        "ratio-pinned": "never",
        "proxy-and-score-part": "rarely",
        "margin-zero": "never",
        "nonfinite-loss": "rarely",
    },
    look_alikes={
        "sampler-mismatch": "the two disagree from the first step on, by about the same",
        "kl-runaway": "trainer and sampler agree on the same tokens",
        "reward-answer-misaligned": "the sampler follows the policy, the reward does not follow the answers",
    },
    fixes=("send-weights-to-sampler", "match-sampler"),
    do_not=(
        "lower the learning rate: the gap only grows more slowly",
        "widen the clip range: it hides the age of the samples",
        "judge by the reward of the samples: it belongs to the old weights",
    ),
    doc=DOC,
    only_with=POLICY,
    cases=(
        Case(
            "fires",
            "trainer and sampler part more and more",
            present=("sampler-drifts", "clip-fraction-extreme"),
            absent=("sampler-disagrees", "ratio-pinned", "reward-spread-zero"),
        ),
        Case("healthy", "the reward rises, entropy and KL move slowly", absent=(*CALM_CURVES, *CALM_POLICY)),
        Case(
            "look-alike",
            "they disagree from the first row, by the same",
            present=("sampler-disagrees",),
            absent=("sampler-drifts",),
            expects="sampler-mismatch",
        ),
        Case("missing", "only many clipped terms", present=("clip-fraction-extreme",), absent=()),
    ),
)
