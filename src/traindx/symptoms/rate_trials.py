"""What short trainings at several rates show of the script's own, for the symptoms of one too high and one too low."""

from __future__ import annotations

import math

from traindx.measurements import RateTrials
from traindx.symptoms.base import clarity, num
from traindx.thresholds import Threshold

WORTH = Threshold(
    0.2, "of the loss, taken away by the best rate", "where no rate does much, the rate is not what is missing"
)
SOME = 0.5  # of the best descent: the script's rate works


def worth(look: RateTrials) -> bool:
    return WORTH.reached(-look.best_change / look.size)


def share_done(look: RateTrials) -> float:
    """How much of the best descent the script's rate makes; below 0 where it raises the loss."""
    return -math.inf if look.change is None else look.change / look.best_change


def is_fine(look: RateTrials) -> bool:
    return share_done(look) > SOME


def of_the_best(look: RateTrials) -> str:
    return f"{look.updates} updates at {look.best_rate:.2g} lower the loss by {num(-look.best_change)}"


def times_clarity(threshold: Threshold, times: float) -> float:
    """On a logarithmic scale."""
    assert threshold.strong is not None
    return clarity(math.log(times), math.log(threshold.value), math.log(threshold.strong))
