"""What the judges of the scale of inputs and targets have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from traindx.diagnosis import Observation
from traindx.measurements import InputScale, Measured
from traindx.symptoms.observed import seen
from traindx.thresholds import Threshold, fitted

WILD = fitted("outlier-batch.reach", 50.0, unit="times the median of the largest values of the batches before")
BATCHES = fitted("outlier-batch.batches", 7, unit="batches before")
# heavy tails thin out: of powers and exponentials of normal numbers the largest is a few times the next
APART = fitted("outlier-batch.apart", 10.0, unit="times the largest value that is not far out")
TINY = 1e-12  # of which a logarithm is taken


def clarity_of_size(threshold: Threshold, size: float) -> float:
    """The clarity by orders of magnitude: half-way from the threshold to the strong value is their geometric mean."""
    strong = threshold.strong or threshold.value
    share = math.log(max(size, TINY) / threshold.value) / math.log(strong / threshold.value)
    return threshold.clarity(threshold.value + share * (strong - threshold.value))


def far_out(values: Sequence[float], threshold: Threshold, usual: float) -> int:
    """How many of the largest values, in descending order, lie beyond a threshold by their usual size and apart from
    the others; 0 where those come close, as in a heavy tail."""
    far = sum(threshold.reached(value / usual) for value in values)
    close = far and far < len(values) and not APART.reached(values[far - 1] / max(values[far], TINY))
    return 0 if close else far


def wild_batch(measured: Measured) -> Observation | None:
    """outlier-batch, where one batch reaches far out of the range of those before it. Batches between those looked at
    are not seen, so that it is never absent."""
    looks = [one for one in measured.all(InputScale) if not one.normalising]
    for number, look in enumerate(looks):
        before = sorted((one.peak for one in looks[:number]), reverse=True)
        usual = before[number // 2] if BATCHES.reached(number) else 0.0
        if usual and far_out((look.peak, before[0]), WILD, usual) == 1:
            text = (
                f"The batch of update {look.update} holds a value of {look.peak:.3g}; the usual largest is {usual:.3g}."
            )
            return seen("outlier-batch", True, text, at=look)
    return None
