"""duplicate-samples: the same samples again and again."""

from __future__ import annotations

from statistics import median_high

from traindx.diagnosis import Observation
from traindx.measurements import FirstBatches, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "duplicate-samples"
BATCHES = fitted(f"{ID}.batches", 3, unit="batches looked at")
REPEATED = fitted(f"{ID}.repeated", 0.25, unit="of the samples repeat another one of their batch")
MOST_BATCHES = fitted(f"{ID}.most", 0.55, unit="of the batches: more than half of up to eight")
VARIED = fitted(f"{ID}.varied", 3, unit="different numbers in a sample: with fewer, samples are equal by chance")


def judge(measured: Measured) -> Observation | None:
    last = measured.last(FirstBatches)
    if last is None or not BATCHES.reached(len(last.repeated)):
        return None
    shares = [
        share if VARIED.reached(numbers) else 0.0 for share, numbers in zip(last.repeated, last.distinct, strict=True)
    ]
    many = [share for share in shares if REPEATED.reached(share)]
    if many and MOST_BATCHES.reached(len(many) / len(shares)):
        text = (
            f"In {len(many)} of {len(shares)} checked batches {percent(median_high(many))} of the samples repeat "
            "another one of their batch."
        )
        return seen(ID, True, text, at=last)
    if not many:
        return seen(ID, False, f"{len(shares)} checked batches hold hardly any sample twice.", at=last)
    return None


def _batches(*repeated: float, distinct: int = 12) -> FirstBatches:
    return FirstBatches(repeated=repeated, distinct=(distinct,) * len(repeated))


SYMPTOM = Symptom(
    id=ID,
    title="the same samples again and again",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Many samples of the first training batches are equal to others in the same batch.

## How it is measured
A hash of each row of the inputs of the first training batches, as far as they are looked at (three at least). Present
when a quarter of the rows or more repeat another row of their batch, in more than half of the batches. Batches whose
first row has fewer than three different values (tokens, one-hot codes) are left out.

## Healthy range
No equal rows in a batch of measurements or images.

## What it usually means
A loader that hands out one sample repeatedly (an index that is not used, a cache with one key), or data that was
oversampled.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("three samples again and again", "present", measured=(_batches(0.9, 0.91, 0.92, 0.9),)),
        Case("no sample twice", "absent", measured=(_batches(0.0, 0.0, 0.03, 0.0),)),
        Case("a fifth of each batch", "absent", measured=(_batches(0.2, 0.2, 0.2),)),
        Case("in one batch of three", "unknown", measured=(_batches(0.9, 0.0, 0.0),)),
        Case("codes of zeros and ones", "absent", measured=(_batches(0.9, 0.9, 0.9, distinct=2),)),
        Case("two batches: too few to say", "unknown", measured=(_batches(0.9, 0.9),)),
        Case("a log alone", "unknown"),
    ),
)
