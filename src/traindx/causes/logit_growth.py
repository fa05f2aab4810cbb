"""Cause: scores before a softmax grow until the training breaks."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls as it should, then turns rough and spikes, late in the training and more often at higher rates. The
norm of the updates rises before loss and gradient do. In half precision it ends in NaN.

## Why it happens
Nothing in cross-entropy bounds the logits: shifting all of them leaves the loss as it is, and confident answers pay a
little for being more so. In attention, queries and keys multiply, so that scores grow with the square of their size;
a softmax over scores in the hundreds is one-hot and passes no gradient. Large vocabularies, high rates and missing
weight decay on the head speed it up.

## How to tell it from its look-alikes
Watch the largest attention score and the log of the summed exp of the outputs. A rate that is too high is rough from
the first updates, with scores of ordinary size. A corrupt batch makes one spike, and scores are the same before and
after.

## How to fix it
1. `lower-lr` or a longer warm-up first.
2. `limit-logits`: a z-loss of 1e-4, and normalised queries and keys in a new run.

## What NOT to do
- Do not clip gradients harder: they are still small when the scores run away.
- Do not skip the batches at the spikes: others follow.
- Do not switch to half precision to save memory: scores overflow earlier.

## References
- Chowdhery et al., *PaLM*, JMLR 2023 (z-loss).
- Dehghani et al., *Scaling Vision Transformers to 22 Billion Parameters*, ICML 2023 (normalised queries and keys).
- Wortsman et al., *Small-scale proxies for large-scale Transformer training instabilities*, 2023.
"""

CAUSE = Cause(
    id="logit-growth",
    title="logits grow without end",
    group="which weights move",
    check="print the largest attention score every 100 steps: it grows without end if so",
    prior="rare",
    predicts={
        "logits-growing": "always",
        "loss-spike": "often",
        "divergence": "sometimes",
        "oscillation": "sometimes",
        "exploding-gradients": "sometimes",
        "huge-updates": "sometimes",
        "nonfinite-loss": "sometimes",
        "saturated-units": "sometimes",
        "plateau": "sometimes",
        "flat-from-start": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "lr-too-high": "rough from the first updates, with scores of ordinary size",
        "corrupt-samples": "one batch makes a spike; scores are the same before and after",
        "fp16-overflow": "numbers overflow; scores need not have grown",
    },
    fixes=(
        "lower-lr",
        "limit-logits",
    ),
    do_not=(
        "clip gradients harder: they are still small when the scores run away",
        "skip the batches at the spikes: others follow",
        "switch to half precision to save memory: scores overflow earlier",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "attention scores go from 2 to 300, then the loss spikes",
            present=(
                "logits-growing",
                "loss-spike",
            ),
            absent=(
                "huge-updates",
                "nonfinite-inputs",
            ),
        ),
        Case(
            "healthy",
            "scores settle at 10",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "logits-growing",
            ),
        ),
        Case(
            "look-alike",
            "updates of a third of the weights from the first step on",
            present=(
                "huge-updates",
                "divergence",
            ),
            absent=("logits-growing",),
            expects="lr-too-high",
        ),
        Case("missing", "one spike in a log", present=("loss-spike",), absent=()),
    ),
    log_visible=False,
    needs="the size of the scores (a live recording)",
)
