"""data-in-order: training batches come sorted by class."""

from __future__ import annotations

from itertools import groupby

from traindx.diagnosis import Observation
from traindx.measurements import BatchClasses, BatchLengths, BatchTopics, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "data-in-order"
BATCHES = fitted(f"{ID}.batches", 40, unit="training batches")
ONE_CLASS = fitted(f"{ID}.one-class", 0.9, unit="of a batch")
SORTED = fitted(f"{ID}.sorted", 0.625, unit="of the batches hold one class almost only")
CLASSES = fitted(f"{ID}.classes", 3, unit="classes in turn, where the order is not known")
TWO = Threshold(2, "classes in turn", "one class alone has no order")
LENGTHS = Threshold(20, "batches", "a rank correlation of 0.9 by chance has a probability below 1e-7 from here on")
ORDERED = Threshold(
    0.9, "rank correlation of order and length", "shuffled batches stay below 0.5 (1 / sqrt(20) is 0.22)"
)
SPREAD = Threshold(0.1, "standard deviation of the lengths by their mean", "lengths that hardly differ have no order")
TOPIC_BATCHES = Threshold(20, "batches", "a share of fewer is known to no better than a fifth")
TOPIC_SHARE = Threshold(
    0.3,
    "of the batches hold in half of their rows a token that stands in a tenth of all rows",
    "four of eight shuffled rows share such a token once in 140, so that a vocabulary gives one batch in ten one",
    strong=0.7,
)
BY_TOPIC = 0.65  # clarity at most: stretches of one text stand together in windows over it, too
BY_LENGTH = 0.8  # clarity: a curriculum from short to long may be meant
LONG_RUN = fitted(f"{ID}.run", 5, unit="batches in a row of one class of two: steps that take turns are shorter")


def judge(measured: Measured) -> Observation | None:
    """By class or answer where samples have one, or by length."""
    found = [*map(_by_class, measured.all(BatchClasses)), _by_length(measured.last(BatchLengths))]
    found.append(_by_topic(measured.last(BatchTopics)))
    looks = [one for one in found if one is not None]
    return next((one for one in looks if one.state == "present"), looks[0] if looks else None)


def _by_length(look: BatchLengths | None) -> Observation | None:
    if look is None or not LENGTHS.reached(look.batches) or not SPREAD.reached(look.spread):
        return None
    if ORDERED.reached(abs(look.correlation)):
        way = "longer and longer" if look.correlation > 0 else "shorter and shorter"
        text = (
            f"The first {look.batches} training batches get {way} (rank correlation of order and length "
            f"{look.correlation:.2f}): the data is sorted by length."
        )
        return seen(ID, True, text, at=look, clarity=BY_LENGTH)
    text = f"The order of {look.batches} training batches says little about their lengths ({look.correlation:.2f})."
    return seen(ID, False, text, at=look)


def _by_topic(look: BatchTopics | None) -> Observation | None:
    if look is None or not TOPIC_BATCHES.reached(look.batches):
        return None
    share = look.with_topic / look.batches
    text = f"In {percent(share)} of {look.batches} training batches half of the rows share a token that few others have"
    if TOPIC_SHARE.reached(share) and CLASSES.reached(look.topics):
        clear = min(BY_TOPIC, TOPIC_SHARE.clarity(share))
        return seen(ID, True, f"{text}: rows about the same thing stand together.", at=look, clarity=clear)
    return seen(ID, False, f"{text}.", at=look)


def _by_class(look: BatchClasses) -> Observation | None:
    if not BATCHES.reached(len(look.classes)):
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
    title="training data sorted",
    severity="problem",
    family="order",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Most training batches hold samples of one class only, and the classes take turns.

## How it is measured
The labels of the first 40 training batches with at least 8 samples: a batch counts when at least 90 % of it are one
class, and 25 of the 40 must. A sample of a language model has its answer for a class: the labels that count. It takes
three classes in turn, or two with a loader that is known not to shuffle or where each comes for five batches in a row.
Texts without such labels: batches of which half of the rows share a token that stands in at most a tenth of all rows,
as rows about one thing do; three in ten of the first 64 batches must have one. Of tokens: the mean lengths of at least
20 batches go up or down with their place in the order (rank correlation 0.9).
The same order in every epoch is no fault.

## Healthy range
In shuffled data a batch of one class hardly occurs, except for a class that makes up nearly all of the data.

## What it usually means
`shuffle=True` is missing on data stored class by class. The model learns the class of the hour and forgets it again.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("sorted files", "present", measured=(_look([n // 4 for n in range(40)], sequential=True),)),
        Case(
            "short texts first, answers in any order",
            "present",
            measured=(
                _look([n % 10 for n in range(40)], share=0.2),
                BatchLengths(batches=60, correlation=0.98, spread=0.5),
            ),
        ),
        Case(
            "answers in order, targets of tokens in any",
            "present",
            measured=(_look([n // 4 for n in range(40)]), _look([7] * 40, share=0.88, sequential=True)),
        ),
        Case("short texts first", "present", measured=(BatchLengths(batches=60, correlation=0.98, spread=0.5),)),
        Case("texts in any order", "absent", measured=(BatchLengths(batches=60, correlation=0.1, spread=0.5),)),
        Case(
            "questions about one thing after the other",
            "present",
            measured=(BatchTopics(batches=64, with_topic=60, topics=31),),
        ),
        Case("questions in any order", "absent", measured=(BatchTopics(batches=64, with_topic=4, topics=4),)),
        Case("texts of one length", "unknown", measured=(BatchLengths(batches=60, correlation=0.98, spread=0.01),)),
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
