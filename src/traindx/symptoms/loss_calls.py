"""What the judges of loss functions have in common: many calls make one verdict, and how an operation or a shape is
written."""

from __future__ import annotations

from collections.abc import Iterable

from traindx.diagnosis import Observation
from traindx.loss_functions import BINARY_LOGITS, USUAL
from traindx.measurements import LossCall, LossReduction, Measured
from traindx.run import Run
from traindx.symptoms.observed import seen

SOFTMAXES = ("Softmax", "LogSoftmax")
SIGMOIDS = ("Sigmoid", "Hardsigmoid")


def clearest(found: Iterable[Observation | None]) -> Observation | None:
    """Of what several calls show, the clearest that is present, else the first that is absent: an innocent call does
    not take back what another one shows."""
    known = [one for one in found if one is not None]
    present = [one for one in known if one.state == "present"]
    if present:
        return max(present, key=lambda one: one.clarity)
    return known[0] if known else None


def summed(run: Run) -> bool:
    """A loss of the training is a sum over samples, so that its level is not that of a mean."""
    return any(one.samples for measured in run.measured for one in measured.all(LossReduction))


def other_loss(identifier: str, measured: Measured, losses: frozenset[str]) -> Observation | None:
    """Absent where a usual loss function is trained with that cannot have this fault; only `losses` can."""
    for call in measured.all(LossCall):
        if call.loss in USUAL and call.loss not in losses:
            return seen(identifier, False, f"The loss is {call.loss}.", at=call)
    return None


def softmax_width(call: LossCall) -> int | None:
    """How many numbers the softmax that made the input is taken over; None where another operation made it."""
    if call.made_by not in SOFTMAXES or call.made_dim is None or call.made_dim >= len(call.made_shape):
        return None
    return call.made_shape[call.made_dim]


def takes_raw_logits(call: LossCall) -> bool:
    """The loss wants logits, and what made its input is known and is neither a sigmoid nor a softmax that it applies
    itself."""
    if call.loss == BINARY_LOGITS:
        probabilities = call.made_by in SIGMOIDS or (call.made_by == "Softmax" and softmax_width(call) != 1)
        return bool(call.made_by) and not probabilities
    return call.loss == "cross_entropy" and call.rows > 0 and bool(call.made_by)


def spoken(operation: str) -> str:
    return {"LogSoftmax": "log-softmax", "Relu": "ReLU"}.get(operation, operation.lower())


def written(shape: tuple[int, ...]) -> str:
    """(64, 10), as torch's messages write it."""
    return f"({', '.join(str(size) for size in shape)})"
