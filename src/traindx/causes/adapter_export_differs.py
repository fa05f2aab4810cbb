"""Cause: the exported model is not the one that was trained."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The evaluation in training is good and the exported model answers like the base, or worse. Nothing is wrong in the
log.

## Why it happens
Between training and serving an adapter is saved, loaded by name, merged and converted. Names with another prefix load
nothing and only warn. Another base, or another revision of it, has the same shapes. A merge into quantised weights
rounds the adapter away, a second merge adds it twice, a wrong alpha scales it.

## How to tell it from its look-alikes
`traindx checkpoint ADAPTER --against BASE` looks up every pair in the base, and with `--merged` calculates base +
scale·B·A. An adapter whose second matrices are zero was never trained: that is a fault of the training and not of the
export. A template that differs at generation leaves all weights right.

## How to fix it
1. `match-adapter-to-base`: export against the base that the adapter was trained on, in single precision.
2. Compare logits of a few prompts before serving.

## What NOT to do
- Do not train longer: the trained adapter never arrives.
- Do not load with `strict=False` to silence the message.
- Do not merge into 4-bit weights and quantise again.

## References
- PEFT documentation, *Model merging* and *Troubleshooting: bad results from a loaded PEFT model*.
"""

CAUSE = Cause(
    id="adapter-export-differs",
    title="export differs from the trained adapter",
    group="going on",
    check="run traindx checkpoint ADAPTER --against BASE --merged MERGED: every pair must agree",
    prior="rare",
    predicts={
        "adapter-export-differs": "always",
        "adapter-at-zero": "rarely",
        "tied-weights-apart": "rarely",
        "adapter-inactive": "rarely",
        "flat-from-start": "rarely",
        "divergence": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "adapter-not-attached": "the adapter was never trained: its second matrices are zero",
        "weights-not-tied": "embedding and head of one file differ; here adapter and base do not fit",
    },
    fixes=("match-adapter-to-base",),
    do_not=(
        "train longer: the trained adapter never arrives",
        "load with `strict=False` to silence the message",
        "merge into 4-bit weights and quantise again",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "28 pairs find no module in the base",
            present=("adapter-export-differs",),
            absent=(
                "adapter-at-zero",
                "nonfinite-weight",
            ),
        ),
        Case(
            "healthy",
            "every pair finds its module",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "adapter-export-differs",
                "adapter-at-zero",
            ),
        ),
        Case(
            "look-alike",
            "all second matrices are zero",
            present=(
                "adapter-at-zero",
                "adapter-inactive",
            ),
            absent=("adapter-export-differs",),
            expects="adapter-not-attached",
        ),
        Case("missing", "nothing but a plateau", present=("plateau",), absent=()),
    ),
    log_visible=False,
    needs="adapter and base on disk (traindx checkpoint ADAPTER --against BASE)",
)
