"""no-counted-tokens: samples in which no token counts in the loss."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured
from traindx.signals import Signals
from traindx.signals.started import fine_tuning
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import flat
from traindx.symptoms.token_counts import SAMPLES, counts_of, predicts_next, token_counts
from traindx.thresholds import Threshold

ID = "no-counted-tokens"
ROWS = 5
FROM_A_LOG = 0.5  # clarity: NaN that was filtered, or nothing that trains, look alike
EMPTY = Threshold(
    0.2,
    "of the samples have no counted token",
    "sorted by length and cut at a usual 95 to 99 % quantile, at most one in twenty has none; four "
    "times that is a fault",
    strong=0.5,
)


def judge(measured: Measured) -> Observation | None:
    counts = counts_of(measured)
    if counts is None or not SAMPLES.reached(counts.samples):
        return None
    if counts.counted and not predicts_next(counts):
        return None
    share = counts.empty / counts.samples
    if EMPTY.reached(share):
        text = (
            f"In {counts.empty} of {counts.samples} training samples ({percent(share)}) no token counts in the loss: "
            "all labels are ignored."
        )
        return seen(ID, True, text, at=counts, clarity=EMPTY.clarity(share))
    text = (
        f"{counts.samples - counts.empty} of {counts.samples} training samples have tokens that count in the loss "
        f"({counts.counted / counts.samples:.0f} a sample)."
    )
    return seen(ID, False, text, at=counts)


def detect(signals: Signals) -> Observation:
    """A loss of 0 without a gradient, from the first row on, in the fine-tuning of a language model."""
    loss, norm = signals.train, next((one for one in signals.run.of("grad_norm") if not one.meaning.where), None)
    if loss is None or norm is None or min(len(loss), len(norm)) < ROWS or not fine_tuning(signals):
        return Observation(ID, "unknown", "The targets of the loss were not seen.")
    if signals.kind != "supervised" or (signals.trainer is not None and signals.trainer.task != "supervised"):
        return Observation(ID, "unknown", "The loss of this objective may be 0.")
    if loss.series.values.any() or norm.values.any():
        return Observation(ID, "unknown", "The targets of the loss were not seen.")
    text = f"{loss.name} and {norm.name} are exactly 0 in all {len(loss)} rows, as where every label is ignored."
    return Observation(ID, "present", text, (float(loss.x[0]), float(loss.x[-1])), loss.name, FROM_A_LOG)


SYMPTOM = Symptom(
    id=ID,
    title="samples without a counted token",
    severity="problem",
    family="counted tokens",
    background=0.002,
    needs=("loss function", "targets", "input tokens"),
    doc="""
## What is observed
In some or all training samples every label is ignored: they cost time and teach nothing. A batch of only such samples
has a loss of NaN (a mean over nothing) or 0.

## How it is measured
A recording lays the targets of the loss beside the tokens that went into the embedding, in a few batches, and counts
the samples without a single target that counts: not `ignore_index`, and not masked afterwards. Present from 20 % of the
samples on. In a log, a loss of exactly 0 beside a gradient norm of exactly 0 in every row speaks for it, where a
language model is fine-tuned. Losses whose targets are not the next token (masked language modelling) are left out.

## Healthy range
Every sample has counted tokens. A few without any, whose prompts fill the whole length, are normal.

## What it usually means
The answer was cut off by `max_length`, the text that a collator looks for before answers does not occur in the tokens,
or the template marks no answer.
""",
    detect=from_measurements(ID, judge, otherwise=detect),
    cases=(
        Case("all labels ignored", "present", measured=(token_counts(counted=0, empty=32),)),
        Case("a third of the samples", "present", measured=(token_counts(empty=11),)),
        Case("a few long prompts", "absent", measured=(token_counts(empty=2),)),
        Case("every sample counts", "absent", measured=(token_counts(),)),
        Case("masked language modelling on short lines", "unknown", measured=(token_counts(empty=9, next=60),)),
        Case("three samples", "unknown", measured=(token_counts(3, empty=1),)),
        Case("only the evaluation was seen", "unknown", measured=(token_counts(empty=11, evaluation=True),)),
        Case("a log alone", "unknown"),
        Case(
            "loss and gradient norm are 0 in every row",
            "present",
            lambda: {"loss": flat(11, 0.0, 0), "grad_norm": flat(11, 0.0, 0)},
            {"peft_type": "LORA"},
        ),
        Case(
            "the loss is 0 and the gradient is not",
            "unknown",
            lambda: {"loss": flat(11, 0.0, 0), "grad_norm": flat(11, 0.2, 0.3)},
            {"peft_type": "LORA"},
        ),
    ),
)
