"""probabilities-as-logits: probabilities given to a loss that wants logits."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import BINARY_LOGITS, WANT_LOGITS
from traindx.measurements import DeclaredLoss, LossCall, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import clearest, other_loss, softmax_width
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "probabilities-as-logits"
NEARLY_ALL = Threshold(
    0.999, "of the rows sum to 1", "a softmax normalises every row; a thousandth is left for rounding in half precision"
)
ROWS = Threshold(2, "rows", "a single row of logits may sum to 1 by chance")
LINEAR = frozenset({"Addmm", "Mm", "Linear", "Convolution"})  # operations whose results are no shares


def judge(measured: Measured) -> Observation | None:
    found = [_judge_call(call) for call in measured.all(LossCall)]
    found += [_judge_declared(one) for one in measured.all(DeclaredLoss) if not one.binary and one.from_logits]
    return clearest([*found, other_loss(ID, measured, WANT_LOGITS)])


def _judge_declared(one: DeclaredLoss) -> Observation:
    if one.activation == "softmax":
        text = f"{one.loss} with from_logits=True is given the softmax of the last layer and applies softmax once more."
        return seen(ID, True, text, at=one)
    return seen(ID, False, f"The last layer ({one.activation}) gives {one.loss} the logits it wants.", at=one)


def _judge_call(call: LossCall) -> Observation | None:
    if call.loss == BINARY_LOGITS and call.made_by == "Softmax" and (width := softmax_width(call)) != 1:
        text = f"{call.loss} is given a softmax over {width} outputs, but it applies sigmoid itself."
        return seen(ID, True, text, at=call)
    if call.loss == BINARY_LOGITS and call.made_by in LINEAR:
        return seen(ID, False, f"A layer without an activation gives {call.loss} its input.", at=call)
    if call.loss != "cross_entropy" or not call.rows:
        return None
    if NEARLY_ALL.reached(call.probability_rows) and ROWS.reached(call.rows):
        text = (
            f"cross_entropy is given probabilities: all {call.rows} rows sum to 1 over the {call.classes} classes, but "
            "it applies softmax itself."
        )
        return seen(ID, True, text, at=call)
    text = "The input of cross_entropy does not sum to 1 over the classes: these are logits."
    return seen(ID, False, text, at=call)


SYMPTOM = Symptom(
    id=ID,
    title="probabilities given to a loss that wants logits",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The loss function applies softmax (or sigmoid) itself, but what it is given already is the result of a softmax.

## How it is measured
A recording looks at the input of `cross_entropy`: two rows at least, no number below zero, and 99.9 % of the rows sum
to 1 over the classes to a thousandth (to 3 % in half precision). Log-probabilities do not count: a second log-softmax
changes nothing. For `binary_cross_entropy_with_logits`, the autograd graph shows that a softmax over several outputs
made its input.

## Healthy range
None. Logits are negative now and then and their sums are arbitrary.

## What it usually means
A softmax as last layer together with `CrossEntropyLoss`: learning is slow and the loss cannot fall below ln(e + K -
1) - 1.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "softmax, then cross-entropy",
            "present",
            measured=(LossCall(loss="cross_entropy", rows=64, classes=10, probability_rows=1.0, where="train.py:42"),),
        ),
        Case(
            "softmax, then the loss on single logits",
            "present",
            measured=(LossCall(loss=BINARY_LOGITS, made_by="Softmax", made_shape=(64, 3), made_dim=1),),
        ),
        Case(
            "at one of two calls",
            "present",
            measured=(
                LossCall(loss="cross_entropy", rows=64, classes=10, where="train.py:41"),
                LossCall(loss="cross_entropy", rows=64, classes=10, probability_rows=1.0, where="train.py:42"),
            ),
        ),
        Case("logits", "absent", measured=(LossCall(loss="cross_entropy", rows=64, classes=10, log_sum=2.4),)),
        Case(
            "one row in a hundred does not sum to 1",
            "absent",
            measured=(LossCall(loss="cross_entropy", rows=100, classes=10, probability_rows=0.99),),
        ),
        Case(
            "one row that sums to 1",
            "absent",
            measured=(LossCall(loss="cross_entropy", rows=1, classes=10, probability_rows=1.0),),
        ),
        Case("single logits of a layer", "absent", measured=(LossCall(loss=BINARY_LOGITS, made_by="Addmm"),)),
        Case("a piece of something", "unknown", measured=(LossCall(loss=BINARY_LOGITS, made_by="Select"),)),
        Case("a regression", "absent", measured=(LossCall(loss="mse_loss", made_by="Addmm"),)),
        Case("another loss function", "unknown", measured=(LossCall(loss="ctc_loss", made_by="LogSoftmax"),)),
        Case(
            "softmax and from_logits=True",
            "present",
            measured=(
                DeclaredLoss(
                    loss="categorical_crossentropy", binary=False, from_logits=True, activation="softmax", outputs=10
                ),
            ),
        ),
        Case(
            "no activation and from_logits=True",
            "absent",
            measured=(
                DeclaredLoss(
                    loss="categorical_crossentropy", binary=False, from_logits=True, activation="linear", outputs=10
                ),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
