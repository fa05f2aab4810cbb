"""constant-features: input features that never change."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import FirstBatches, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "constant-features"
ROWS = fitted(f"{ID}.rows", 64, unit="samples: a feature of fewer may change later")


def judge(measured: Measured) -> Observation | None:
    last = measured.last(FirstBatches)
    if last is None or not ROWS.reached(last.rows) or last.constant == last.features:
        return None
    if last.constant:
        more = last.constant - len(last.constant_first)
        named = ", ".join(map(str, last.constant_first)) + (f" and {more} more" if more else "")
        text = (
            f"{last.constant} of {last.features} input features have one value in all {last.rows} checked samples: "
            f"{named}."
        )
        return seen(ID, True, text, at=last)
    return seen(ID, False, f"All of {last.features} input features change.", at=last)


def _table(constant: tuple[int, ...], rows: int = 512, features: int = 30) -> FirstBatches:
    return FirstBatches(
        repeated=(), distinct=(), rows=rows, features=features, constant=len(constant), constant_first=constant[:5]
    )


SYMPTOM = Symptom(
    id=ID,
    title="input features that never change",
    severity="note",
    family=ID,
    background=0.02,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Columns of a table of inputs have one value in all samples seen.

## How it is measured
Inputs of a model that are rows of at most 50 numbers, over the first batches looked at (at least 64 rows).

## Healthy range
None; a few constant columns do no harm. Borders of images are constant by nature and are not counted.

## What it usually means
A column that was lost on the way: a merge that failed, a scaler fitted on nothing, a sensor that is off.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("two columns that are lost", "present", measured=(_table((4, 17)),)),
        Case("all change", "absent", measured=(_table(()),)),
        Case("nothing changes: no table of samples", "unknown", measured=(_table((0, 1), features=2),)),
        Case("only 63 samples", "unknown", measured=(_table((4, 17), rows=63),)),
        Case("inputs that are no table", "unknown", measured=(FirstBatches(repeated=(0.0,), distinct=(200,)),)),
        Case("a log alone", "unknown"),
    ),
)
