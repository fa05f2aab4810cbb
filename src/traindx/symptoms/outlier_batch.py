"""outlier-batch: one batch holds values far out of the range of the others."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import FeatureTail, InputScale, LossJump, Measured, SampleExtremes
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.scales import far_out, wild_batch
from traindx.thresholds import fitted

ID = "outlier-batch"
OUTSIDE = fitted(f"{ID}.outside", 50.0, unit="times the largest value of the median sample of the batch")
ROWS = fitted(f"{ID}.rows", 128, unit="samples in which a feature has a usual value")
# a log-normal income has a few hundred at most
FAR = fitted(f"{ID}.far", 1e3, unit="times the median distance of the values of a feature from their median")
FEW_SAMPLES = fitted(f"{ID}.few", 0.02, unit="of the samples", side="below")
FAR_CLARITY = 0.9  # such a value may be true


def judge(measured: Measured) -> Observation | None:
    """A loss that jumped says most: which sample, and where the batch is kept. Batches in between are not seen, so
    that silence proves nothing."""
    for jump in measured.all(LossJump):
        rows = _rows(jump)
        if rows:
            return seen(ID, True, _sentence(jump, rows), at=jump)
    for batch in measured.all(SampleExtremes):
        if batch.median > 0 and far_out(batch.largest, OUTSIDE, batch.median):
            text = (
                f"A sample in the batch of update {batch.update} reaches {batch.largest[0]:.3g}; the median sample of "
                f"the batch reaches {batch.median:.3g}."
            )
            return seen(ID, True, text, at=batch)
    for tail in measured.all(FeatureTail):
        far = far_out(tail.distances, FAR, 1.0)
        if far and ROWS.reached(tail.rows) and FEW_SAMPLES.reached(far / tail.rows):
            text = (
                f"{far} of {tail.rows} checked training samples reach {tail.farthest:.3g} in feature {tail.feature}; "
                f"the median is {tail.median:.3g}, and half of the samples lie within {tail.spread:.2g} of it."
            )
            return seen(ID, True, text, at=tail, clarity=FAR_CLARITY)
    return wild_batch(measured)


def _rows(jump: LossJump) -> list[int]:
    """Which of the recorded samples of a batch are far out of the range of the others; none where those are many."""
    if not jump.median > 0 or OUTSIDE.reached(jump.beyond_quarter / jump.median):
        return []
    return list(range(far_out(jump.largest, OUTSIDE, jump.median)))


def _sentence(jump: LossJump, places: list[int]) -> str:
    rows = ", ".join(str(jump.rows[place]) for place in places)
    samples = ", ".join(str(jump.samples[place]) for place in places if jump.samples)
    which = f" (sample {samples} of the data set)" if samples else ""
    return (
        f"At update {jump.update}, whose loss jumped to {jump.loss:.4g} (usual {jump.usual:.4g}), row {rows}{which} of "
        f"the batch holds values up to {jump.largest[0]:.3g}; in the others they reach {jump.median:.3g}."
    )


def _jump(largest: tuple[float, ...], beyond_quarter: float = 3.0) -> LossJump:
    return LossJump(
        update=40,
        loss=8.1,
        usual=0.2,
        largest=largest,
        rows=tuple(range(len(largest))),
        samples=(777, 3, 5),
        median=3.0,
        beyond_quarter=beyond_quarter,
        count=32,
        where="batches/spike-40.pt",
    )


def _extremes(*largest: float) -> SampleExtremes:
    return SampleExtremes(update=9, largest=largest, median=3.1, step=8)


def _tail(*distances: float, rows: int = 512) -> FeatureTail:
    return FeatureTail(feature=2, rows=rows, median=0.1, spread=0.7, farthest=9999.0, distances=distances)


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
The largest input value of one training batch, or of one sample in it, is at least 50 times the usual largest, and ten
times the next largest.

## How it is measured
On the steps that are looked at closely, the largest value of each sample beside that of the median sample of its
batch; where a loss jumps, also those of its batch, of which no more than a quarter may stand out; and the largest
value of a batch beside that of the batches before. Batches in between are not seen, so silence proves nothing. In
tables also values far off all others of their feature, at least a thousand times the median distance from its median,
in at most 2 % of the first 512 training samples (128 at least): a spoilt value makes the deviation that it is scaled
by, and hides in the range. All of them must lie apart: where the next largest value comes within a factor of ten, it is
the heavy tail of powers, exponentials, prices or counts.

## Healthy range
Largest values that differ by a small factor from batch to batch.

## What it usually means
Corrupt samples: decoding errors, wrong units in some files, missing-value codes such as 1e20.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a missing-value code", "present", measured=(_extremes(1e6, 4.0, 3.9),)),
        Case("one range", "unknown", measured=(_extremes(14.0, 4.0, 3.9),)),
        Case("forty times the others", "unknown", measured=(_extremes(124.0, 4.0, 3.9),)),
        Case("the heavy tail of a power", "unknown", measured=(_extremes(173.0, 35.0, 20.0),)),
        Case("a sample behind a jump of the loss", "present", measured=(_jump((4e4, 4.1, 4.0)),)),
        Case("a jump without such a sample", "unknown", measured=(_jump((4.2, 4.1, 4.0)),)),
        Case("a jump in a batch of two ranges", "unknown", measured=(_jump((4e4, 4e4, 4e4), 4e4),)),
        Case("a value far off its feature", "present", measured=(_tail(14_000.0, 4.0, 3.9),)),
        Case("a heavy tail", "unknown", measured=(_tail(400.0, 90.0, 55.0),)),
        Case("a heavier tail", "unknown", measured=(_tail(1400.0, 290.0, 55.0),)),
        Case("far off, and often", "unknown", measured=(_tail(*[2000.0] * 11),)),
        Case("far off in a few samples", "unknown", measured=(_tail(14_000.0, rows=100),)),
        Case("a batch far out", "present", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 3.1, 156.0)),
        Case("not far enough", "unknown", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 3.1, 144.0)),
        Case("too few batches before it", "unknown", measured=_batches(3.0, 3.1, 2.9, 3.0, 3.2, 3.0, 156.0)),
        Case("a log alone", "unknown"),
    ),
)
