"""shapes-broadcast: output and target broadcast against each other."""

from __future__ import annotations

from math import prod

import numpy as np

from traindx.diagnosis import Observation
from traindx.loss_functions import REGRESSION
from traindx.measurements import LossCall, LossOperation, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import clearest, other_loss, written
from traindx.symptoms.observed import from_measurements, seen

ID = "shapes-broadcast"
ON_PURPOSE = ("Unsqueeze", "Expand", "Index")  # operations that make room for pairs


def judge(measured: Measured) -> Observation | None:
    calls = [_judge_call(call) for call in measured.all(LossCall) if call.loss in REGRESSION]
    by_hand = [_judge_operation(one) for one in measured.all(LossOperation)]
    return clearest([*calls, *by_hand, other_loss(ID, measured, REGRESSION)])


def _judge_call(call: LossCall) -> Observation | None:
    given, wanted = call.input_shape, call.target_shape
    try:
        together = np.broadcast_shapes(given, wanted)
    except ValueError:
        return None
    if prod(together) > max(prod(given), prod(wanted)):
        text = (
            f"{call.loss} compares an output of shape {written(given)} with a target of shape {written(wanted)}: they "
            f"broadcast to {written(together)}, every output against every target."
        )
        return seen(ID, True, text, at=call)
    text = f"Output {written(given)} and target {written(wanted)} of {call.loss} do not blow each other up."
    return seen(ID, False, text, at=call)


def _judge_operation(one: LossOperation) -> Observation | None:
    shape = one.shape
    if one.operation not in ("Sub", "Rsub") or len(shape) != 2 or shape[0] != shape[1] or shape[0] == 1:
        return None
    if one.given not in ((shape[0], 1), (shape[0],)) or one.given_by in ON_PURPOSE:
        return None
    text = (
        f"The loss subtracts a target from an output of shape {written(one.given)} and gets {written(shape)}: they "
        "broadcast, every output against every target."
    )
    return seen(ID, True, text, at=one)


SYMPTOM = Symptom(
    id=ID,
    title="output and target broadcast against each other",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "shapes of output and target",
    ),
    doc="""
## What is observed
Output and target have shapes such as (N, 1) and (N), which broadcast to (N, N): every output is compared with every
target.

## How it is measured
A recording compares the shapes given to mse, L1, smooth L1 and Huber losses: the broadcast result has more elements
than either. In a loss written by hand it looks for a subtraction in the graph whose result is (N, N) while the output
that goes in has N elements.

## Healthy range
Shapes are equal, or one of the two is a constant for all samples. Pairwise differences made on purpose by unsqueezing
do not count.

## What it usually means
A missing `squeeze(-1)` on the output or `unsqueeze(-1)` on the target. The model then learns the mean of the targets.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "a column against a row",
            "present",
            measured=(LossCall(loss="mse_loss", input_shape=(25, 1), target_shape=(25,), where="train.py:42"),),
        ),
        Case(
            "a column minus a row, written out",
            "present",
            measured=(LossOperation(operation="Sub", shape=(25, 25), given=(25, 1), given_by="Addmm"),),
        ),
        Case(
            "pairs on purpose",
            "unknown",
            measured=(LossOperation(operation="Sub", shape=(25, 25), given=(25, 1), given_by="Unsqueeze"),),
        ),
        Case(
            "equal shapes",
            "absent",
            measured=(LossCall(loss="mse_loss", input_shape=(25, 1), target_shape=(25, 1)),),
        ),
        Case(
            "one target for all samples",
            "absent",
            measured=(LossCall(loss="mse_loss", input_shape=(25, 1), target_shape=(1, 1)),),
        ),
        Case(
            "a batch of one sample",
            "absent",
            measured=(LossCall(loss="mse_loss", input_shape=(1, 1), target_shape=(1,)),),
        ),
        Case(
            "cross-entropy",
            "absent",
            measured=(LossCall(loss="cross_entropy", input_shape=(25, 3), target_shape=(25,)),),
        ),
        Case("a log alone", "unknown"),
    ),
)
