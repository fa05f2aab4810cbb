"""data-in-order: training batches come sorted by class."""

from __future__ import annotations

from itertools import groupby

from traindx.diagnosis import Observation
from traindx.measurements import BatchClasses, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "data-in-order"
BATCHES = fitted(f"{ID}.batches", 40, unit="training batches")
ONE_CLASS = fitted(f"{ID}.one-class", 0.9, unit="of a batch")
SORTED = fitted(f"{ID}.sorted", 0.625, unit="of the batches hold one class almost only")
CLASSES = fitted(f"{ID}.classes", 3, unit="classes in turn, where the order is not known")
TWO = Threshold(2, "classes in turn", "one class alone has no order")
LONG_RUN = fitted(f"{ID}.run", 5, unit="batches in a row of one class of two: steps that take turns are shorter")


def judge(measured: Measured) -> Observation | None:
    look = measured.last(BatchClasses)
    if look is None or not BATCHES.reached(len(look.classes)):
        return None
    turns = [one for one, share in zip(look.classes, look.shares, strict=True) if ONE_CLASS.reached(share)]
    count, classes = len(look.classes), len(set(look.classes))
    pure = len(turns) / count
    enough = TWO if look.sequential or _in_runs(turns) else CLASSES
    if SORTED.reached(pure) and enough.reached(classes):
        how = "; the loader does not shuffle" if look.sequential else ""
        text = (
            f"{percent(pure)} of the first {count} training batches hold one class almost only, while {classes} "
            f"classes take turns{how}."
        )
        return seen(ID, True, text, at=look)
    return seen(ID, False, f"Of the first {count} training batches {percent(pure)} hold one class only.", at=look)


def _in_runs(turns: list[int]) -> bool:
    """Two classes, each for several batches before the other comes."""
    runs = sum(1 for _ in groupby(turns))
    return len(set(turns)) == 2 and LONG_RUN.reached(len(turns) / runs)


def _look(classes: list[int], share: float = 1.0, sequential: bool | None = None) -> BatchClasses:
    return BatchClasses(classes=tuple(classes), shares=(share,) * len(classes), sequential=sequential)


SYMPTOM = Symptom(
    id=ID,
    title="training data sorted by class",
    severity="problem",
    family="order",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Most training batches hold samples of one class only, and the classes take turns.

## How it is measured
The labels of the first 40 training batches with at least 8 samples: a batch counts when at least 90 % of it are one
class, and 25 of the 40 must. It takes three classes in turn, or two with a loader that is known not to shuffle or where
each comes for five batches in a row. The same order in every epoch is no fault.

## Healthy range
In shuffled data a batch of one class hardly occurs, except for a class that makes up nearly all of the data.

## What it usually means
`shuffle=True` is missing on data stored class by class. The model learns the class of the hour and forgets it again.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("sorted files", "present", measured=(_look([n // 4 for n in range(40)], sequential=True),)),
        Case("shuffled", "absent", measured=(_look([n % 10 for n in range(40)], share=0.2),)),
        Case("batches not quite of one class", "absent", measured=(_look([n // 4 for n in range(40)], share=0.89),)),
        Case("two classes, no loader", "present", measured=(_look([n // 20 for n in range(40)]),)),
        Case(
            "two classes that take turns, as steps of a discriminator",
            "absent",
            measured=(_look([n % 2 for n in range(40)]),),
        ),
        Case(
            "two classes in turn from a loader in order",
            "present",
            measured=(_look([n % 2 for n in range(40)], sequential=True),),
        ),
        Case("one class makes up nearly all", "absent", measured=(_look([0] * 40),)),
        Case("39 batches", "unknown", measured=(_look([n // 4 for n in range(39)]),)),
        Case("a log alone", "unknown"),
    ),
)
