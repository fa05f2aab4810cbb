"""labels-imbalanced: imbalanced labels, and only the most frequent is predicted."""

from __future__ import annotations

from functools import partial

from traindx.diagnosis import Observation
from traindx.measurements import ClassPredictions, Measured, RegressionData
from traindx.symptoms import padding_in_loss
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.newest import in_order, newest
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.predicted import class_predictions, shows_predictions
from traindx.thresholds import Threshold, fitted

ID = "labels-imbalanced"
IMBALANCE = fitted(f"{ID}.ratio", 10.0, unit="times as many targets as the rarest class")
MAJORITY = Threshold(
    0.5, "of the targets", "more than all others together; in text the blank leads and is no imbalance"
)
FRACTIONAL = Threshold(0.5, "of the targets are distinct broken numbers", "codes of classes are whole, or few differ")


def judge(measured: Measured) -> Observation | None:
    padded = padding_in_loss.judge(measured)  # then the padding is that class
    look = partial(_judge, padded=padded is not None and padded.state == "present")
    return without_classes(ID, measured) or newest(map(look, in_order(measured.all(ClassPredictions))))


def _judge(look: ClassPredictions, padded: bool) -> Observation | None:
    if not shows_predictions(look):
        return None
    if look.predicted > 1:
        return seen(ID, False, f"{look.predicted} of {look.classes} classes are predicted.", at=look)
    share, ratio = look.top_targets / look.targets, look.most / look.fewest
    if look.weighted or padded or look.top_targets != look.most:
        return None
    if not (MAJORITY.reached(share) and IMBALANCE.reached(ratio)):
        return None
    sentence = (
        f"Class {look.top} has {percent(share)} of the targets, {num(round(ratio))} times as many as the rarest class, "
        "and is all that is predicted."
    )
    return seen(ID, True, sentence, at=look)


def without_classes(identifier: str, measured: Measured) -> Observation | None:
    """Of a regression there is no class that could be rare."""
    found = measured.last(RegressionData)
    if found is None or found.other_losses or not found.alone or not found.fractional:
        return None
    if not all(FRACTIONAL.reached(share) for share in found.fractional):
        return None
    return seen(identifier, False, f"The targets of {' and '.join(found.losses)} are numbers, no classes.", at=found)


def regression(*fractional: float, other_losses: int = 0) -> RegressionData:
    return RegressionData(losses=("mse_loss",), other_losses=other_losses, alone=True, fractional=fractional)


def _imbalanced(most: int, fewest: int, **fields: int) -> ClassPredictions:
    targets = fields.pop("targets", 3200)
    return class_predictions(
        **{
            "targets": max(targets, most + fewest),
            "most": most,
            "fewest": fewest,
            "top_targets": most,
            "predicted": 1,
            **fields,
        }
    )


SYMPTOM = Symptom(
    id=ID,
    title="imbalanced labels, and only the most frequent is predicted",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "predictions",
    ),
    doc="""
## What is observed
One class is more than ten times as frequent as another, the loss does not weigh them, and the model answers with the
frequent one only.

## How it is measured
A recording counts targets and predictions at the looks it takes at the loss. Present where, after 100 updates, the last
looks, five of them at batches with more than one class, predict one class only, it is the most frequent one, half of
the targets have it, and they are ten times as many as those of the rarest class that occurs. The last looks count.
Weighted losses, targets that are padding, and trainings with several optimisers are left out. Masks of yes and no over
a picture count by their points. A regression on numbers that are not whole has no classes: absent.

## Healthy range
Imbalance alone is normal; it counts only together with predictions that have collapsed onto the majority.

## What it usually means
Class imbalance without weights, resampling or a suitable score.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("the frequent class only", "present", measured=(_imbalanced(3100, 100),)),
        Case("nine times as many", "unknown", measured=(_imbalanced(2880, 320),)),
        Case("less than half of the targets", "unknown", measured=(_imbalanced(1500, 10),)),
        Case("another class only", "unknown", measured=(_imbalanced(3100, 100, top_targets=100),)),
        Case("a weighted loss", "unknown", measured=(_imbalanced(3100, 100, weighted=True),)),
        Case("imbalanced, and both are predicted", "absent", measured=(_imbalanced(3100, 100, predicted=2),)),
        Case("four looks at mixed batches", "unknown", measured=(_imbalanced(3100, 100, mixed_looks=4),)),
        Case(
            "learnt in the end",
            "absent",
            measured=(
                _imbalanced(3100, 100),
                _imbalanced(6200, 200, step=600, since=500, predicted=2),
            ),
        ),
        Case("padding is the class", "unknown", measured=(_imbalanced(3100, 100), padding_in_loss.padded())),
        Case("a regression", "absent", measured=(regression(0.98),)),
        Case("codes of classes in a regression", "unknown", measured=(regression(0.98, 0.0),)),
        Case("a regression beside a classification", "unknown", measured=(regression(0.98, other_losses=1),)),
        Case("a log alone", "unknown"),
    ),
)
