"""rare-classes-missed: rare classes are taken for the frequent one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from traindx.diagnosis import Observation
from traindx.measurements import FrequentClass, Measured, RareClasses
from traindx.symptoms import padding_in_loss
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.labels_imbalanced import regression, without_classes
from traindx.symptoms.newest import in_order, newest
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "rare-classes-missed"
IN_A_ROW = Threshold(3, "evaluations in a row", "every training begins with the frequent class")

# one class has most of the training labels
LABELS = fitted(f"{ID}.labels", 40, unit="labels on each side")
NO_MAJORITY = Threshold(0.5, "of the training labels", "the others together have as many", side="below")
IMBALANCE = fitted(f"{ID}.imbalance", 10.0, unit="times the median share of the other classes")
DOMINANT = fitted(f"{ID}.dominant", 0.8, unit="of the training labels: the rest cannot be told from each other either")
OTHERS = fitted(f"{ID}.others", 10, unit="validation samples of other classes")
MISSED = fitted(f"{ID}.missed", 0.5, unit="of them are missed")

# some classes are far rarer than in validation
LABELS_A_CLASS = fitted(f"{ID}.labels-a-class", 20, unit="training labels for each class")
EVEN = fitted(f"{ID}.even", 5.0, unit="times the labels of the rarest class, to be called absent", side="below")
EVEN_BATCHES = fitted(f"{ID}.even-batches", 3, unit="training batches, to be called absent")
RARE_LABELS = Threshold(
    5, "labels of rare classes on each side", "from which on counts are nearly normally distributed"
)
BATCHES = fitted(f"{ID}.batches", 5, unit="batches that show in which order labels come")
DISORDER = Threshold(4.0, "standard deviations", "beyond it lie 3e-5 of labels in random order", side="below")
MORE = fitted(f"{ID}.more", 3.0, unit="times the share of the rare classes in training")
SURELY_MORE = fitted(
    f"{ID}.surely-more", 2.0, unit="times that share, or the odds of the most frequent class, for sure"
)
SURE = Threshold(3.0, "standard errors beyond that", "0.1 % lies there by chance")
DIFFERENT = Threshold(5.0, "standard errors between the shares", "3e-7 lies there by chance, of many evaluations")
WORSE = Threshold(3.0, "standard errors by which fewer rare samples are recognised", "0.1 % lies there by chance")
AS_WELL = Threshold(1.0, "standard errors by which fewer are recognised", "16 % lies there by chance", side="below")
CLEAR = 0.7  # clarity of rare classes that are recognised less often,
STRONG_MISSED = 0.5  # which grows to 1 where so many more of them are missed than of the others


def judge(measured: Measured) -> Observation | None:
    """What is missed counts before what is not, and the last evaluation before the others: rare classes may be learnt
    late."""
    padded = padding_in_loss.judge(measured)  # then the padding is what is most frequent
    if padded is not None and padded.state == "present":
        return without_classes(ID, measured)
    by_step: dict[float, list[Observation]] = defaultdict(list)
    frequent, rare = in_order(measured.all(FrequentClass)), in_order(measured.all(RareClasses))
    for found in (*_against_frequent(frequent), *_on_validation(rare)):
        by_step[found.steps[0] if found.steps else 0.0].append(found)
    best = (max(by_step[step], key=lambda one: (one.state == "present", one.clarity)) for step in sorted(by_step))
    return without_classes(ID, measured) or newest(best)


def _against_frequent(looks: Sequence[FrequentClass]) -> Iterator[Observation]:
    """Whether the samples of other classes are taken for the class that nearly all training labels have. Once no class
    has most of them, nothing is said any more: what is seen of the labels then is their order."""
    for one in looks:
        if not LABELS.reached(min(one.labels, one.held_labels)):
            continue
        if NO_MAJORITY.reached(one.least_share):
            sentence = f"The most frequent class has {percent(one.least_share)} of the training labels."
            yield seen(ID, False, sentence, at=one)
            return
        leads = one.median_share == 0 or IMBALANCE.reached(one.top_share / one.median_share)
        if leads and OTHERS.reached(one.others):
            yield from _taken(one)


def _taken(look: FrequentClass) -> Iterator[Observation]:
    dominant = DOMINANT.reached(look.top_share)
    shares = look.unrecognised if dominant else look.taken
    times = _times([MISSED.reached(share) for share in shares])
    if not times or IN_A_ROW.reached(times):
        sentence = (
            f"Class {look.top} has {percent(look.top_share)} of the training labels and {percent(look.held_share)} of "
            f"the validation labels, and {percent(shares[-1])} of the {look.others} validation samples of other "
            f"classes "
            f"are {'not recognised' if dominant else 'taken for it'}."
        )
        yield seen(ID, times > 0, sentence, at=look)


def _times(found: list[bool]) -> int:
    """How many of the last ones in a row."""
    return next((count for count, one in enumerate(reversed(found)) if not one), len(found))


def _on_validation(looks: Sequence[RareClasses]) -> Iterator[Observation]:
    """Whether classes that are far rarer in training than in validation are recognised less often. Once classes are
    even, nothing more is said."""
    for one in looks:
        enough = LABELS_A_CLASS.reached(one.labels / one.classes)
        if enough and EVEN_BATCHES.reached(one.batches) and one.fewest and EVEN.reached(one.most / one.fewest):
            sentence = "No class is ten times as rare in training as the most frequent one."
            yield seen(ID, False, sentence, at=one)
            return
        if enough and one.worse and is_rarer(one):
            yield from _recognition(one)


def is_rarer(look: RareClasses) -> bool:
    """Whether the rare classes have a far larger share in validation than in training, beyond doubt, and validation as
    a whole is more even: labels that only changed their names are not."""
    if not RARE_LABELS.reached(min(look.rare_labels, look.held_rare)) or not _in_random_order(look):
        return False
    ratio = math.log(_share_held(look) / _share(look))
    error = math.sqrt(1 / look.rare_labels + 1 / look.held_rare)
    surely = SURE.reached((ratio - math.log(SURELY_MORE.value)) / error)
    odds = _odds(look.most / look.labels) / _odds(look.held_most / look.held_labels)
    more = MORE.reached(math.exp(ratio)) and DIFFERENT.reached(ratio / error)
    return more and surely and SURELY_MORE.reached(odds)


def _in_random_order(look: RareClasses) -> bool:
    """Of sorted data, the batches that were looked at are no sample of all."""
    train = BATCHES.reached(look.batches) and DISORDER.reached(look.disorder)
    held = BATCHES.reached(look.held_batches) and DISORDER.reached(look.held_disorder)
    return train and (look.complete or held)


def _recognition(look: RareClasses) -> Iterator[Observation]:
    recall, usual = look.held_rare_right / look.held_rare, look.held_frequent_right / look.held_frequent
    name = f"Class {look.rare[0]} has" if look.rare_classes == 1 else f"{look.rare_classes} rare classes have"
    sentence = (
        f"{name} {percent(_share(look))} of the training labels and {percent(_share_held(look))} of the validation "
        "labels, and"
    )
    if IN_A_ROW.reached(_times([WORSE.reached(errors) for errors in look.worse])):
        clarity = CLEAR + (1 - CLEAR) * min(1.0, (usual - recall) / STRONG_MISSED)
        sentence = (
            f"{sentence} {percent(recall)} of those validation samples are recognised, of the others {percent(usual)}."
        )
        yield seen(ID, True, sentence, at=look, clarity=clarity)
    elif AS_WELL.reached(look.worse[-1]):
        yield seen(ID, False, f"{sentence} those validation samples are recognised as well as the others.", at=look)


def _share(look: RareClasses) -> float:
    return look.rare_labels / look.labels


def _share_held(look: RareClasses) -> float:
    return look.held_rare / look.held_labels


def _odds(share: float) -> float:
    return share / max(1 - share, 1e-9)


def _frequent(*taken: float, **fields: float) -> FrequentClass:
    """One class with most of the labels, for cases."""
    example = FrequentClass(
        top=0,
        top_share=0.7,
        least_share=0.7,
        median_share=0.05,
        labels=160.0,
        held_share=0.6,
        held_labels=100,
        others=40,
        taken=taken,
        unrecognised=tuple(share + 0.45 for share in taken),
    )
    return msgspec.structs.replace(example, **fields)


def _rare(**fields: Any) -> RareClasses:
    """One rare class that validation has as often as the other, for cases."""
    example = RareClasses(
        classes=2,
        batches=20,
        labels=640,
        most=608,
        fewest=32,
        rare=(0,),
        rare_classes=1,
        rare_labels=32,
        disorder=0.2,
        held_batches=4,
        held_labels=200,
        held_most=100,
        held_disorder=0.1,
        complete=True,
        held_rare=100,
        held_rare_right=80,
        held_frequent=100,
        held_frequent_right=99,
        worse=(5.0, 5.0, 5.0),
    )
    return msgspec.structs.replace(example, **fields)


SYMPTOM = Symptom(
    id=ID,
    title="rare classes are taken for the frequent one",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Training shows some classes far less often than another, and in validation these are missed.

## How it is measured
Labels and predictions in the losses of training and validation, or the labels that a loader hands out and the outputs
of the model where validation computes no loss. Present in either of two cases, both of them in three evaluations in a
row.

- One class has more than half of the training labels, ten times the median share of the others, and half of the
  validation samples of the other classes, ten at least, are taken for it; where it has 80 % of them, it is enough that
  they are not recognised.
- Classes that the most frequent training class outnumbers ten times have at least three times that share in validation,
  beyond five standard errors and surely more than twice, validation as a whole is more even, and fewer of their samples
  than of the others are recognised, by three standard errors. Labels that come in sorted order, weighted losses, padded
  targets, and losses with more than one label for a sample, such as those of texts and maps, are left out of this.

The last evaluations count: every training begins so, and rare classes are often learnt late. Absent where no class has
more than half of the last training labels, where the most frequent class has at most five times the labels of the
rarest, and where in the last evaluation less than half of the samples are missed, or as many of the rare as of the
others are recognised.

## Healthy range
Errors that spread over the classes, a validation set with the balance of the training set and few errors, training data
that a sampler has made even, or rare classes that are recognised as well as the others. A regression has no classes to
miss.

## What it usually means
Class imbalance that validation does not share: the model has learnt how frequent the classes are.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("taken for the frequent class", "present", measured=(_frequent(0.6, 0.7, 0.8),)),
        Case("half of them, in the last evaluation fewer", "absent", measured=(_frequent(0.6, 0.7, 0.4),)),
        Case("in two evaluations so far", "unknown", measured=(_frequent(0.7, 0.8),)),
        Case("nine samples of other classes", "unknown", measured=(_frequent(0.6, 0.7, 0.8, others=9),)),
        Case("39 labels", "unknown", measured=(_frequent(0.6, 0.7, 0.8, held_labels=39),)),
        Case("seven times the median share", "unknown", measured=(_frequent(0.6, 0.7, 0.8, median_share=0.1),)),
        Case("no class has most of the labels", "absent", measured=(_frequent(0.6, 0.7, 0.8, least_share=0.5),)),
        Case("dominant, and confused with each other", "present", measured=(_frequent(0.1, 0.1, 0.1, top_share=0.9),)),
        Case("padding is the class", "unknown", measured=(_frequent(0.6, 0.7, 0.8), padding_in_loss.padded())),
        Case("rarer than in validation", "present", measured=(_rare(),)),
        Case("recognised as well", "absent", measured=(_rare(worse=(4.0, 4.0, 0.5)),)),
        Case("recognised worse in two evaluations", "unknown", measured=(_rare(worse=(0.5, 4.0, 4.0)),)),
        Case("as rare in validation", "unknown", measured=(_rare(held_rare=10, held_most=190),)),
        Case("sorted labels", "unknown", measured=(_rare(disorder=5.0),)),
        Case("a part of a sorted validation set", "unknown", measured=(_rare(complete=False, held_disorder=9.0),)),
        Case("too few labels", "unknown", measured=(_rare(classes=40),)),
        Case("even classes", "absent", measured=(_rare(most=400, fewest=240, rare=(), rare_labels=0),)),
        Case("missed in the one way and not in the other", "present", measured=(_frequent(0.1, 0.1, 0.1), _rare())),
        Case("a regression", "absent", measured=(regression(0.98),)),
        Case("a log alone", "unknown"),
    ),
)
