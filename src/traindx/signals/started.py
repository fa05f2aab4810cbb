"""Had the model been trained before this run began? Then there is little left to gain, and it is gained slowly."""

from __future__ import annotations

import math

from traindx.signals import Signals
from traindx.signals.chance import variance_of_targets

TRAINED = 0.6  # of chance level: no fresh model starts there,
HELD_OUT = 0.75  # and none is here at its first evaluation unless it has learnt something


def trained_before(signals: Signals) -> str:
    """A sentence where a recording's first losses, in training and in validation, lie far below what guessing gives."""
    train, val = signals.train, signals.val
    if not signals.run.facts or train is None or val is None or train.initial <= 0 or val.initial <= 0:
        return ""
    variance = variance_of_targets(signals)
    if variance is not None:
        level, name = variance, "the variance of the targets"
    elif signals.classes is not None:
        level, name = math.log(max(2, signals.classes[0])), f"ln({signals.classes[0]})"
    else:
        return ""
    if train.initial > TRAINED * level or val.initial > HELD_OUT * level:
        return ""
    return f"The first loss is {train.initial:.4g} where guessing gives {level:.4g} ({name}): the model had been trained before."
