"""When the predictions that a recording counted may be judged: what several symptoms share."""

from __future__ import annotations

from typing import Any

import msgspec

from traindx.measurements import ClassPredictions, OutputSpread
from traindx.thresholds import fitted

UPDATES = fitted(
    "prediction-collapse.updates", 100, unit="updates: at the start predictions are alike in good trainings"
)
MIN_LOOKS = fitted("prediction-collapse.looks", 5, unit="looks, at batches with more than one class")
RECENT = fitted("prediction-collapse.recent", 0.3, unit="of the updates so far, before the first of those looks")
PREDICTIONS = fitted("prediction-collapse.predictions", 64, unit="predictions in those looks")


def is_settled(look: ClassPredictions | OutputSpread) -> bool:
    """After the start, and of one optimiser: parts of a model that are trained against each other see one class at a
    time."""
    return UPDATES.reached(look.step) and look.optimizers <= 1


def shows_predictions(look: ClassPredictions) -> bool:
    """Whether the last looks show which classes are predicted now."""
    enough = MIN_LOOKS.reached(look.mixed_looks) and PREDICTIONS.reached(look.predictions)
    return is_settled(look) and enough and RECENT.reached(look.since / look.step)


EXAMPLE = ClassPredictions(
    criterion="cross_entropy",
    classes=10,
    weighted=False,
    looks=24,
    targets=640,
    occurring=10,
    most=80,
    fewest=40,
    last_looks=5,
    mixed_looks=5,
    since=200,
    predictions=320,
    predicted=7,
    top=0,
    top_targets=80,
    sites=1,
    optimizers=1,
    step=300,
    where="train.py:30",
)


def class_predictions(**fields: Any) -> ClassPredictions:
    """A healthy classification with some fields changed, for cases."""
    return msgspec.structs.replace(EXAMPLE, **fields)
