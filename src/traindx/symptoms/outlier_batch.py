"""outlier-batch: one batch holds values far out of the range of the others."""

from __future__ import annotations

from traindx.measurements import InputScale
from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact, from_measurements
from traindx.symptoms.scales import wild_batch

ID = "outlier-batch"


def _batches(*peaks: float) -> tuple[InputScale, ...]:
    return tuple(
        InputScale(normalising=False, batch=n + 1, update=n + 1, peak=one, where="0") for n, one in enumerate(peaks)
    )


SYMPTOM = Symptom(
    id=ID,
    title="a batch with extreme values",
    severity="problem",
    family="bad-batch",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The largest input value of one training batch, or of one sample in it, is more than 50 times the usual largest.

## How it is measured
Where data first meets weights, on the steps that are looked at closely. Batches in between are not seen, so silence proves
nothing. In tables also values far off all others of their feature, more than a thousand times the middle distance from its middle, in at
most 2 % of the first 512 training samples: a spoilt value makes the deviation that it is scaled by, and hides in the range.

## Healthy range
Largest values that differ by a small factor from batch to batch.

## What it usually means
Corrupt samples: decoding errors, wrong units in some files, missing-value codes such as 1e20.
""",
    detect=from_fact(ID, from_measurements(ID, wild_batch)),  # a fact names the sample
    cases=(
        Case("a batch far out", "present", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 3.1, 156.0)),
        Case("not far enough", "unknown", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 3.1, 144.0)),
        Case("too few batches before it", "unknown", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 156.0)),
        Case(
            "a missing-value code", "present",
            facts=(Fact(ID, True, "The batch of update 9 holds a value of 1e+06; the usual largest is 3.1."),),
        ),
        Case("one range", "absent", facts=(Fact(ID, False, "All batches looked at have one range."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
