"""softmax-over-one-output: softmax over a single output."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import LossCall, LossOperation, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import SOFTMAXES, clearest, softmax_width, written
from traindx.symptoms.observed import from_measurements, seen

ID = "softmax-over-one-output"


def judge(measured: Measured) -> Observation | None:
    calls = [_judge_call(call) for call in measured.all(LossCall)]
    return clearest([*calls, *(_judge_operation(one) for one in measured.all(LossOperation) if not one.inside)])


def _judge_call(call: LossCall) -> Observation | None:
    if softmax_width(call) == 1 and call.classes <= 1:  # else the classes lie in another dimension
        text = (
            f"The output given to {call.loss} is a softmax over a dimension of size 1 of {written(call.made_shape)}: "
            "always 1, whatever the input."
        )
        return seen(ID, True, text, at=call)
    if call.loss == "cross_entropy" and call.target_whole and len(call.input_shape) == 2 and call.input_shape[1] == 1:
        text = (
            f"cross_entropy is given one output a sample, {written(call.input_shape)}: its softmax over one output is "
            "always 1 and the loss always 0."
        )
        return seen(ID, True, text, at=call)
    if not call.made_by:
        return None
    return seen(ID, False, f"The output given to {call.loss} is no softmax over a single number.", at=call)


def _judge_operation(one: LossOperation) -> Observation | None:
    if one.operation not in SOFTMAXES or one.dim is None or one.shape[one.dim] != 1:
        return None
    text = f"The loss uses a softmax over a dimension of size 1 of {written(one.shape)}: always 1, whatever the input."
    return seen(ID, True, text, at=one)


SYMPTOM = Symptom(
    id=ID,
    title="softmax over a single output",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
A softmax is taken over a dimension that holds one number. Its result is 1 whatever the network computes, so the loss
is a constant and no gradient flows back.

## How it is measured
A recording reads the operation that made the input of the loss function off the autograd graph, seen through reshapes
and casts, and the size of the dimension it normalises. Cross-entropy with one output a sample and class numbers as
targets counts as well, and so does a softmax in a loss that is written out.

## Healthy range
None: a softmax over one number never makes sense. A sigmoid is what one output needs.

## What it usually means
A binary classifier with one output unit that ends in `softmax` instead of `sigmoid`.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "softmax over one output",
            "present",
            measured=(
                LossCall(
                    loss="binary_cross_entropy", made_by="Softmax", made_shape=(32, 1), made_dim=1, where="train.py:42"
                ),
            ),
        ),
        Case(
            "cross-entropy on one output",
            "present",
            measured=(LossCall(loss="cross_entropy", input_shape=(32, 1), target_shape=(32,), target_whole=True),),
        ),
        Case(
            "in a loss that is written out",
            "present",
            measured=(LossOperation(operation="LogSoftmax", shape=(32, 1), dim=1, samples=32),),
        ),
        Case(
            "softmax over two outputs",
            "absent",
            measured=(LossCall(loss="binary_cross_entropy", made_by="Softmax", made_shape=(32, 2), made_dim=1),),
        ),
        Case(
            "attention over one position inside the model",
            "unknown",
            measured=(LossOperation(operation="Softmax", shape=(32, 1, 1), dim=2, samples=32, inside=True),),
        ),
        Case("the graph is hidden", "unknown", measured=(LossCall(loss="mse_loss", input_shape=(32, 1)),)),
        Case("a log alone", "unknown"),
    ),
)
