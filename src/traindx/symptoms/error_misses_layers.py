"""error-misses-layers: layers that a penalty trains and the error does not."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ErrorReach, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "error-misses-layers"
MIN_LOOKS = Threshold(2, "looks in a row", "one may be a step on which a script trains a part of the model on purpose")


def judge(measured: Measured) -> Observation | None:
    """Never absent: an error that reaches every layer now may be cut off in another phase of the training."""
    return next((_found(one) for one in measured.all(ErrorReach) if MIN_LOOKS.reached(one.in_a_row)), None)


def _found(reach: ErrorReach) -> Observation:
    more = reach.missed_count - len(reach.missed)
    sentence = (
        f"The error that {reach.criterion} gives reaches {', '.join(reach.reached)} and not {', '.join(reach.missed)}"
        f"{f' and {more} more' if more else ''}, of which {reach.missed_entry} takes in the data: the rest of the loss "
        "alone trains them."
    )
    return seen(ID, True, sentence, at=reach)


def _reach(in_a_row: int, entry: str = "enc.weight") -> ErrorReach:
    missed = (entry, "enc.bias") if entry else ()
    return ErrorReach(
        criterion="mse_loss",
        reached=("dec.weight",),
        missed=missed,
        missed_count=len(missed),
        missed_entry=entry,
        in_a_row=in_a_row,
        where="train.py:12",
    )


SYMPTOM = Symptom(
    id=ID,
    title="layers trained by a penalty alone, cut off from the error",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "loss given to backward",
    ),
    doc="""
## What is observed
The model rebuilds its input, and the error of that reaches some of its layers only. The ones that take in the input are
reached by another term of the loss alone, such as the divergence of a variational autoencoder: every parameter has a
gradient, and the encoder learns to say nothing.

## How it is measured
A recording compares the parameters behind the loss that `backward` gets with those behind the loss function whose
target is the model's own input, on steps that are looked at closely. Present when parameters of the same model that
take in the input are among the former and not the latter in two of them in a row, one loss function was called, and the
rest of the loss holds an exponential, as the divergence of a Gaussian does, and no error of its own.

## Healthy range
None: an autoencoder's encoder is there to be trained by the error. A decoder that is trained on the detached features
of another task is left alone, since that task has a loss function, too.

## What it usually means
`.detach()`, `.data` or `torch.no_grad()` around the code, or one that is drawn with `Normal(mean, std).sample()`
instead of `rsample()`.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a detached code", "present", measured=(_reach(1), _reach(2))),
        Case("missed at one look", "unknown", measured=(_reach(1), _reach(0, ""))),
        Case("every layer is reached", "unknown", measured=(_reach(0, ""),)),
        Case("a log alone", "unknown"),
    ),
)
