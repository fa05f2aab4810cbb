"""sigmoid-as-logits: sigmoid given to a loss that wants logits."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import BINARY_LOGITS, WANT_LOGITS
from traindx.measurements import DeclaredLoss, LossCall, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import SIGMOIDS, clearest, other_loss, softmax_width
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "sigmoid-as-logits"
UNIT_CALLS = fitted(f"{ID}.calls", 5, unit="calls in a row with all inputs from 0 to 1, where the graph is hidden")
UNIT_NUMBERS = fitted(f"{ID}.numbers", 500, unit="inputs in those calls")
BY_NUMBERS = 0.8  # clarity of a finding without a graph
IN_CROSS_ENTROPY = 0.9  # the scores of several classes may be bounded on purpose


def judge(measured: Measured) -> Observation | None:
    found = [_judge_call(call) for call in measured.all(LossCall)]
    found += [_judge_declared(one) for one in measured.all(DeclaredLoss) if one.binary and one.from_logits]
    return clearest([*found, other_loss(ID, measured, WANT_LOGITS)])


def _judge_declared(one: DeclaredLoss) -> Observation:
    if one.activation == "sigmoid":
        text = f"{one.loss} with from_logits=True is given the sigmoid of the last layer and applies sigmoid once more."
        return seen(ID, True, text, at=one)
    return seen(ID, False, f"The last layer ({one.activation}) gives {one.loss} the logits it wants.", at=one)


def _judge_call(call: LossCall) -> Observation | None:
    if call.loss == BINARY_LOGITS:
        return _judge_numbers(call) if not call.made_by else _judge_binary(call)
    if call.loss != "cross_entropy" or not call.rows:
        return None
    if call.made_by == "Sigmoid":
        text = f"The logits given to {call.loss} come out of a sigmoid: they never leave 0 to 1."
        return seen(ID, True, text, at=call, clarity=IN_CROSS_ENTROPY)
    if call.made_by in ("", "Relu", "Tanh"):
        return None
    return seen(ID, False, f"The logits given to {call.loss} do not come out of a sigmoid.", at=call)


def _judge_binary(call: LossCall) -> Observation | None:
    if call.made_by in SIGMOIDS:
        text = f"{call.loss} is given the result of a sigmoid, but it applies sigmoid itself."
        return seen(ID, True, text, at=call)
    if call.made_by == "Softmax" and softmax_width(call) != 1:
        return None
    return seen(ID, False, f"{call.loss} is given numbers that no sigmoid made.", at=call)


def _judge_numbers(call: LossCall) -> Observation | None:
    if UNIT_CALLS.reached(call.unit_calls) and UNIT_NUMBERS.reached(call.unit_numbers):
        text = (
            f"All {call.unit_numbers} inputs of {call.loss} in {call.unit_calls} calls lie between 0 and 1: a sigmoid "
            "was applied before."
        )
        return seen(ID, True, text, at=call, clarity=BY_NUMBERS)
    if not call.unit_calls:
        return seen(ID, False, f"The inputs of {call.loss} leave the range 0 to 1.", at=call)
    return None


SYMPTOM = Symptom(
    id=ID,
    title="sigmoid given to a loss that wants logits",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The loss function wants logits, but what it is given comes out of a sigmoid.

## How it is measured
A recording reads off the autograd graph that a sigmoid made the input of `binary_cross_entropy_with_logits` (or of
`cross_entropy`). Where a compiled model hides the graph, five calls in a row with at least 500 numbers, all between 0
and 1, are taken for the same.

## Healthy range
None. Logits that happen to lie between 0 and 1 do not count as long as the graph shows that no sigmoid made them.

## What it usually means
`torch.sigmoid` in `forward` together with `BCEWithLogitsLoss`: the predicted probability never leaves 0.5 to 0.73.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "sigmoid, then the loss on logits",
            "present",
            measured=(LossCall(loss=BINARY_LOGITS, made_by="Sigmoid", where="train.py:42"),),
        ),
        Case(
            "sigmoid, then cross-entropy",
            "present",
            measured=(LossCall(loss="cross_entropy", rows=8, made_by="Sigmoid"),),
        ),
        Case(
            "a compiled model between 0 and 1",
            "present",
            measured=(LossCall(loss=BINARY_LOGITS, unit_calls=5, unit_numbers=600),),
        ),
        Case(
            "a compiled model between 0 and 1, four calls",
            "unknown",
            measured=(LossCall(loss=BINARY_LOGITS, unit_calls=4, unit_numbers=600),),
        ),
        Case(
            "a compiled model between 0 and 1, few numbers",
            "unknown",
            measured=(LossCall(loss=BINARY_LOGITS, unit_calls=9, unit_numbers=499),),
        ),
        Case("a compiled model that leaves 0 to 1", "absent", measured=(LossCall(loss=BINARY_LOGITS),)),
        Case("logits", "absent", measured=(LossCall(loss=BINARY_LOGITS, made_by="Addmm"),)),
        Case("a regression", "absent", measured=(LossCall(loss="mse_loss", made_by="Sigmoid"),)),
        Case(
            "sigmoid and from_logits=True",
            "present",
            measured=(
                DeclaredLoss(
                    loss="binary_crossentropy", binary=True, from_logits=True, activation="sigmoid", outputs=1
                ),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
