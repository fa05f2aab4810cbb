"""positions-not-restarted: position ids do not fit the rows."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PackedRows
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.documents_not_separated import packed_rows
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "positions-not-restarted"
MOSTLY = Threshold(0.5, "of the rows", "a fault of the code that makes them hits all rows")
ROWS = Threshold(4, "rows", "fewer may be odd ones")
# clarity: ids that skip or repeat; ids that run across documents, which some models stand; ids that count padding
BROKEN, RUN_ON, COUNTS_PADDING = 0.95, 0.8, 0.9


def judge(measured: Measured) -> Observation | None:
    for rows in reversed(measured.latest(PackedRows)):
        found = _judge(rows)
        if found is not None:
            return found
    return None


def _judge(rows: PackedRows) -> Observation | None:
    if not ROWS.reached(rows.samples):
        return None
    broken = rows.positions_broken / rows.positions_given if rows.positions_given else 0.0
    if ROWS.reached(rows.positions_given) and MOSTLY.reached(broken):
        text = (
            f"In {percent(broken)} of the rows the position ids neither go up by one from token to token nor begin "
            "again at 0."
        )
        return seen(ID, True, text, at=rows, clarity=BROKEN)
    if ROWS.reached(rows.learned) and MOSTLY.reached(rows.late / rows.learned):
        text = (
            f"{rows.late} of {rows.learned} samples with padding before them begin at a position that counts the "
            "padding, and the model has an embedding for each position: the same text stands elsewhere in every batch."
        )
        return seen(ID, True, text, at=rows, clarity=COUNTS_PADDING)
    if rows.packed and MOSTLY.reached(rows.packed / rows.samples) and MOSTLY.reached(rows.separated / rows.packed):
        if MOSTLY.reached(rows.restarted / rows.packed):
            return seen(ID, False, "Position ids begin again at every document of a row.", at=rows)
        if not rows.positions_given:
            return None  # the model may count by itself
        text = "Documents in a row are told apart, and their position ids run on from one to the next."
        return seen(ID, True, text, at=rows, clarity=RUN_ON)
    if ROWS.reached(rows.positions_given):
        return seen(ID, False, "Position ids go up by one from token to token.", at=rows)
    return None


SYMPTOM = Symptom(
    id=ID,
    title="position ids do not fit",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
The position ids that a model is given skip, repeat or stay constant, or run on across documents that are otherwise told
apart.

## How it is measured
A recording looks at the position ids of a few batches, without those of padding: in half of the rows or more they
neither go up by one nor begin again at 0; or rows hold several documents that a mask or lengths tell apart, and the ids
do not begin again with them; or samples are padded on the left, and the positions that go through an embedding of the
model count the padding.

## Healthy range
0, 1, 2, … in every document.

## What it usually means
Position ids made by hand for padded or packed rows.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("constant ids", "present", measured=(packed_rows(0, packed=0, given=16, broken=16),)),
        Case("run on across documents", "present", measured=(packed_rows(separated=16, given=16),)),
        Case("begin again", "absent", measured=(packed_rows(separated=16, given=16, restarted=16),)),
        Case("counted by the model itself", "unknown", measured=(packed_rows(separated=16),)),
        Case("padding is counted", "present", measured=(replace(packed_rows(0, packed=0), learned=16, late=16),)),
        Case("padding is not counted", "unknown", measured=(replace(packed_rows(0, packed=0), learned=16),)),
        Case("0 to n", "absent", measured=(packed_rows(0, packed=0, given=16),)),
        Case("a log alone", "unknown"),
    ),
)
