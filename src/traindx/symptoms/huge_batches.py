"""huge-batches: hardly any updates in many passes over the data."""

from __future__ import annotations

from math import ceil

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PassesOverData
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "huge-batches"
BATCHES = fitted(f"{ID}.batches", 2, unit="updates of a pass over the data", side="below")
PASSES = fitted(f"{ID}.passes", 10, unit="passes over the data")
UPDATES = fitted(f"{ID}.updates", 149, unit="updates in all", side="below")
SAMPLES = fitted(f"{ID}.samples", 256, unit="samples of the data")
HIGH = fitted(f"{ID}.high", 0.7, unit="of the first loss, in the end")
FALLING = fitted(f"{ID}.falling", 0.3, unit="of the first loss, where it falls to the end as it did at first")
STEADY = fitted(f"{ID}.steady", 0.6, unit="of the fall from the first third to the second, from that to the last")

PERHAPS_WHOLE = 0.25  # clarity without a loader: a graph or a field of points is no set of samples to draw from


def judge(measured: Measured) -> Observation | None:
    last = measured.last(PassesOverData)
    if last is None or not last.first_loss:
        return None
    if not BATCHES.reached(last.batches):
        return seen(ID, False, f"A pass over the data makes {last.batches} updates.", at=last)
    batches = max(last.batches, 1)
    passes, share = last.updates / batches, last.last_loss / last.first_loss
    few = PASSES.reached(passes) and UPDATES.reached(last.updates) and SAMPLES.reached(last.samples)
    if few and (HIGH.reached(share) or (FALLING.reached(share) and _falls_steadily(last.thirds))):
        text = (
            f"{passes:.0f} passes over {last.samples} samples made {last.updates} updates, because a batch holds "
            f"{ceil(last.samples / batches)} of them; the loss is still {percent(share)} of its first value."
        )
        return seen(ID, True, text, at=last, clarity=1.0 if last.loaded else PERHAPS_WHOLE)
    return None


def _falls_steadily(thirds: tuple[float, ...]) -> bool:
    """The loss fell over the last third of the updates nearly as much as before."""
    if not thirds:
        return False
    start, middle, end = thirds
    return start > middle > end and STEADY.reached((middle - end) / (start - middle))


def _passes(batches: int, updates: int, last_loss: float, *thirds: float, samples: int = 1400) -> PassesOverData:
    return PassesOverData(
        batches=batches, samples=samples, updates=updates, first_loss=2.0, last_loss=last_loss, thirds=thirds
    )


SYMPTOM = Symptom(
    id=ID,
    title="hardly any updates in many passes over the data",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The training went through its data many times and still made only a handful of updates, because a batch holds all or
half of the data, and the loss had not fallen by much.

## How it is measured
Passes over the training loader, updates, and the size of a batch beside the data set; without a loader, that the
first three updates all saw the same samples. Present for at least ten passes with at most two updates each, fewer
than 150 updates in all, at least 256 samples, and a last loss of 70 % of the first or more, or of 30 % or more where
the last third of the updates took off more than 60 % of what the one before did. Not said of a training that was cut
short. Without a loader it is less clear: a whole graph or field of points cannot be cut into batches.

## Healthy range
Tens of updates in each pass, or a loss that falls all the same.

## What it usually means
A batch as large as the data set with a learning rate meant for small ones.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("sixty passes, sixty updates", "present", measured=(_passes(1, 60, 1.9, 2.0, 1.95, 1.9),)),
        Case("still falling as at first", "present", measured=(_passes(1, 60, 1.0, 1.8, 1.4, 1.1),)),
        Case("levelled off", "unknown", measured=(_passes(1, 60, 1.0, 1.6, 1.1, 1.0),)),
        Case("a loss that fell all the same", "unknown", measured=(_passes(1, 60, 0.2, 1.2, 0.6, 0.2),)),
        Case("nine passes", "unknown", measured=(_passes(1, 9, 1.9, 2.0, 1.95, 1.9),)),
        Case("long enough", "unknown", measured=(_passes(1, 150, 1.9, 2.0, 1.95, 1.9),)),
        Case("hardly any data", "unknown", measured=(_passes(1, 60, 1.9, samples=255),)),
        Case("22 updates a pass", "absent", measured=(_passes(22, 60, 1.9, 2.0, 1.95, 1.9),)),
        Case("a log alone", "unknown"),
    ),
)
