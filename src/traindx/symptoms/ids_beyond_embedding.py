"""ids-beyond-embedding: the tokenizer has more tokens than the embedding has rows."""

from __future__ import annotations

import re

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import EmbeddingRows, Measured
from traindx.run import Event
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import FromMeasurements, from_measurements, seen
from traindx.thresholds import Threshold

ID = "ids-beyond-embedding"
# what torch says where an id has no row: on the host, and on a GPU
_ERRORS = re.compile(r"index out of range in self|Indexing\.cu.*srcIndex < srcSelectDimSize|vectorized_gather_kernel")
MISSING = Threshold(1, "tokens without a row", "the first of them to occur ends the run")
SPARE_CLARITY = 0.5  # none of them has occurred yet


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(EmbeddingRows) if one.tokens]
    if not looks:
        return None
    last = max(looks, key=lambda one: one.rows)
    if MISSING.reached(last.tokens - last.rows):
        return seen(
            ID,
            True,
            f"The tokenizer has {last.tokens} tokens, {last.where} {last.rows} rows: {last.tokens - last.rows} tokens "
            f"have no embedding, and the first of them to occur ends the run.",
            at=last,
            clarity=SPARE_CLARITY,
        )
    return seen(ID, False, f"The tokenizer has {last.tokens} tokens and {last.where} {last.rows} rows.", at=last)


def detect(signals: Signals) -> Observation:
    died = signals.run.died
    if died is not None and _ERRORS.search(died.text):
        found = _MEASURED(signals)
        more = f" {found.evidence}" if found.state == "present" else ""
        place = None if died.step is None else (died.step, died.step)
        return Observation(
            ID, "present", f"The run died because an id has no row in an embedding: {died.text[:200]}.{more}", place
        )
    return _MEASURED(signals)


_MEASURED: FromMeasurements = from_measurements(ID, judge)
FITS = EmbeddingRows(
    rows=32000, columns=64, used=900, largest=31990, trainable=True, looked=512, updates=40, tokens=32000, where="wte"
)

SYMPTOM = Symptom(
    id=ID,
    title="tokens without a row in the embedding",
    severity="problem",
    family="vocabulary",
    background=0.002,
    needs=("the end of the log, or a recording of the training (traindx run)",),
    doc="""
## What is observed
The run died on an index that has no row in an embedding, or the tokenizer that was used in the process has more tokens
than the embedding has rows.

## How it is measured
By torch's own messages (`index out of range in self`, the assertion of its GPU kernel) at the end of a log or a
recording, and by the length of the tokenizer against the rows of the table. Without a crash it is less clear: the
tokens may never occur.

## Healthy range
At least as many rows as tokens; more are usual, because sizes are rounded up.

## What it usually means
Tokens were added and `model.resize_token_embeddings(len(tokenizer))` was not called, or the tokenizer is that of
another model.
""",
    detect=detect,
    cases=(
        Case("an id without a row", "present",
             events=(Event("traceback", "IndexError: index out of range in self", 3.0),)),
        Case("more tokens than rows", "present", measured=(replace(FITS, tokens=32002),)),
        Case("rows to spare", "absent", measured=(replace(FITS, rows=32064),)),
        Case("another error", "unknown", events=(Event("traceback", "IndexError: list index out of range", 3.0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
