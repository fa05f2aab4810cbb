"""Cause: a training goes on from the middle of an epoch with its first batches."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
After a resume the training loss dips, because these batches were trained on not long ago. The end of the epoch is
seen less often than its beginning, or never where jobs are always stopped before it. Validation gets worse over
several resumes.

## Why it happens
The loop starts at the saved step and the loader at zero. With a seed that the script sets, the order is the same as
before the stop. Streams that start from the first shard do so too.

## How to tell it from its look-alikes
traindx sees whether batches were passed over before the first update, and whether the order can repeat. A loader with
a new random order in every run repeats samples too, but no particular ones.

## How to fix it
1. `skip-seen-batches`: pass over what was seen, in the same order.
2. Save checkpoints at the end of epochs where an epoch is short.

## What NOT to do
- Do not change the seed at every resume: parts of the data are then seen twice and others never.
- Do not read the dip of the loss as progress.
- Do not shuffle the whole corpus again before each job.

## References
- Hugging Face Accelerate documentation, *skip_first_batches*.
- torchdata documentation, *StatefulDataLoader*.
"""

CAUSE = Cause(
    id="data-order-restarted",
    title="data starts from the first batch again at a resume",
    group="going on",
    check="print the first sample index after a resume: it must not be the first of the data again",
    prior="rare",
    predicts={
        "data-order-repeated": "always",
        "jump-at-resume": "rarely",
        "overfitting-gap": "sometimes",
        "data-in-order": "sometimes",
        "duplicate-samples": "sometimes",
        "loss-spike": "rarely",
        "optimizer-not-restored": "rarely",
        "schedule-not-restored": "rarely",
        "nonfinite-loss": "rarely",
        "negative-loss": "never",
        "suspiciously-good": "never",
        "loss-at-chance": "rarely",
        "flat-from-start": "rarely",
        "no-gradient": "never",
    },
    look_alikes={
        "optimizer-state-lost": "the loss jumps up; here it dips",
        "same-batch-forever": "one batch again and again; here a whole order, once",
        "not-shuffled": "the order is the same in every epoch, resumed or not",
    },
    fixes=("skip-seen-batches",),
    do_not=(
        "change the seed at every resume: parts of the data are then seen twice and others never",
        "read the dip of the loss as progress",
        "shuffle the whole corpus again before each job",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "a loader from zero at 33 % of an epoch",
            present=("data-order-repeated",),
            absent=(
                "optimizer-not-restored",
                "schedule-not-restored",
                "nonfinite-loss",
            ),
        ),
        Case(
            "healthy",
            "batches were passed over",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "data-order-repeated",
                "jump-at-resume",
            ),
        ),
        Case(
            "look-alike",
            "moments lost at a resume",
            present=(
                "optimizer-not-restored",
                "jump-at-resume",
            ),
            absent=("data-order-repeated",),
            expects="optimizer-state-lost",
        ),
        Case("missing", "validation gets worse", present=("overfitting-gap",), absent=()),
    ),
    log_visible=False,
    needs="which batches were passed over (a live recording)",
)
