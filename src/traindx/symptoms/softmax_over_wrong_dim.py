"""softmax-over-wrong-dim: softmax over the wrong dimension."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.loss_functions import REGRESSION
from traindx.measurements import LossCall, LossOperation, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import SOFTMAXES, clearest, softmax_width, spoken, written
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "softmax-over-wrong-dim"
NORMALISED = Threshold(
    0.5,
    "of the rows sum to 1 over the classes",
    "all do behind a softmax over the classes, hardly any behind another one",
)
SAMPLES = Threshold(4, "samples in the batch", "fewer may be the size of another dimension by chance")
PROBABILITIES_WANTED = REGRESSION | {"binary_cross_entropy"}


def judge(measured: Measured) -> Observation | None:
    calls = [_judge_call(call) for call in measured.all(LossCall)]
    return clearest([*calls, *(_judge_operation(one) for one in measured.all(LossOperation))])


def _judge_call(call: LossCall) -> Observation | None:
    normalised = call.made_by in SOFTMAXES and call.made_uncut
    if not call.rows:
        return _over_batch(call) if normalised and call.loss in PROBABILITIES_WANTED else None
    right = call.probability_rows if call.made_by == "Softmax" else call.log_probability_rows
    one_output = softmax_width(call) == 1 and call.classes <= 1
    if normalised and not math.isfinite(call.log_sum):
        return None  # of rows of NaN none sums to 1
    if normalised and not one_output and not NORMALISED.reached(right):
        text = (
            f"A {spoken(call.made_by)} over dimension {call.made_dim} of {written(call.made_shape)} goes into "
            f"{call.loss}, but the {call.classes} classes lie in another dimension: what it normalises is not one "
            "sample's scores."
        )
        return seen(ID, True, text, at=call)
    if not call.made_by:
        return None
    return seen(ID, False, f"The input of {call.loss} is not normalised over a wrong dimension.", at=call)


def _over_batch(call: LossCall) -> Observation | None:
    shape = call.made_shape
    samples = call.target_shape[0] if call.target_shape else 1
    if call.made_dim != 0 or len(shape) < 2 or shape[0] != samples or samples == 1:
        return None
    text = f"A {spoken(call.made_by)} over dimension 0 of {written(shape)}, the batch, goes into {call.loss}."
    return seen(ID, True, text, at=call)


def _judge_operation(one: LossOperation) -> Observation | None:
    if one.operation not in SOFTMAXES or one.dim != 0 or one.shape[0] != one.samples:
        return None
    if one.inside and _weighs_samples(one):
        text = (
            f"A softmax inside the model runs over dimension 0 of {written(one.shape)}, the {one.samples} samples of "
            "the batch: it weighs them against each other."
        )
        return seen(ID, True, text, at=one)
    if not one.inside and len(one.shape) == 2 and one.shape[1] != one.samples != 1:
        text = f"The loss uses a softmax over dimension 0 of {written(one.shape)}, the batch."
        return seen(ID, True, text, at=one)
    return None


def _weighs_samples(one: LossOperation) -> bool:
    """Weights between positions whose first dimension counts the samples, and nothing else does: in data that has time
    first, the weights of a sequence are not square behind it."""
    square = len(one.shape) > 2 and one.shape[-1] == one.shape[-2] > 1
    return square and SAMPLES.reached(one.samples) and one.samples not in one.shape[1:]


SYMPTOM = Symptom(
    id=ID,
    title="softmax over the wrong dimension",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The softmax (or log-softmax) in front of the loss normalises over the batch or over positions, not over the classes of
one sample.

## How it is measured
A recording finds the softmax node that made the input of the loss function, the dimension it ran over, and checks the
numbers: over the class dimension the (log-)probabilities of at least half of the samples must sum to 1. A result that
was cut in between is not judged by its numbers. In front of a regression or a binary loss, and in a loss that is
written out, a softmax over the batch counts. A softmax inside the model counts where it runs over the samples of the
batch, four at least, instead of over the positions that attention weighs.

## Healthy range
None: over the class dimension every row sums to 1.

## What it usually means
`dim=0`, `dim=-1` for outputs of shape (N, C, …), or a missing `dim` that fell back on the wrong one.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "log-softmax over the batch",
            "present",
            measured=(
                LossCall(
                    loss="nll_loss",
                    rows=32,
                    classes=10,
                    made_by="LogSoftmax",
                    made_shape=(32, 10),
                    made_dim=0,
                    where="train.py:42",
                ),
            ),
        ),
        Case(
            "log-softmax over a batch of one",
            "present",
            measured=(
                LossCall(
                    loss="nll_loss",
                    rows=1,
                    classes=55,
                    made_by="LogSoftmax",
                    made_shape=(1, 55),
                    made_dim=0,
                    made_uncut=True,
                ),
            ),
        ),
        Case(
            "softmax over the batch, then a squared error",
            "present",
            measured=(
                LossCall(loss="mse_loss", target_shape=(32, 10), made_by="Softmax", made_shape=(32, 10), made_dim=0),
            ),
        ),
        Case(
            "in a loss that is written out",
            "present",
            measured=(LossOperation(operation="LogSoftmax", shape=(32, 10), dim=0, samples=32),),
        ),
        Case(
            "attention over the samples",
            "present",
            measured=(LossOperation(operation="Softmax", shape=(32, 9, 9), dim=0, samples=32, inside=True),),
        ),
        Case(
            "attention over the first dimension of three samples",
            "unknown",
            measured=(LossOperation(operation="Softmax", shape=(3, 9, 9), dim=0, samples=3, inside=True),),
        ),
        Case(
            "attention over positions, time first",
            "unknown",
            measured=(LossOperation(operation="Softmax", shape=(32, 9, 4), dim=0, samples=32, inside=True),),
        ),
        Case(
            "log-softmax over the classes",
            "absent",
            measured=(
                LossCall(
                    loss="nll_loss",
                    rows=32,
                    classes=10,
                    made_by="LogSoftmax",
                    made_shape=(32, 10),
                    made_dim=1,
                    log_probability_rows=1.0,
                ),
            ),
        ),
        Case(
            "half of the rows sum to 1",
            "absent",
            measured=(
                LossCall(
                    loss="nll_loss",
                    rows=32,
                    classes=10,
                    made_by="LogSoftmax",
                    made_shape=(32, 10),
                    made_dim=1,
                    log_probability_rows=0.5,
                ),
            ),
        ),
        Case(
            "part of the result",
            "absent",
            measured=(
                LossCall(
                    loss="nll_loss",
                    rows=32,
                    classes=9,
                    made_by="LogSoftmax",
                    made_shape=(32, 10),
                    made_dim=1,
                    made_uncut=False,
                ),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
