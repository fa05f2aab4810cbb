"""scores-as-log-probabilities: raw scores given to a loss that wants log-probabilities."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import DeclaredLoss, LossCall, Measured
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.loss_calls import clearest, other_loss
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.probabilities_as_logits import NEARLY_ALL
from traindx.thresholds import Threshold

ID = "scores-as-log-probabilities"
ROUNDING = "log-probabilities give 0 but for rounding, which the summing of many classes adds up; several times that"
LOG_SUM = Threshold(0.05, "logarithm of the summed exp, median row", ROUNDING)
LOG_SUM_HALF = Threshold(0.2, "logarithm of the summed exp, median row, in half precision", ROUNDING)
SOME_RIGHT = Threshold(
    0.1, "of the rows are log-probabilities", "that many by chance would be a wonder among raw scores"
)
HALF = ("float16", "bfloat16")
LOSSES = ("nll_loss", "kl_div")


def judge(measured: Measured) -> Observation | None:
    found = [_judge_call(call) for call in measured.all(LossCall) if call.loss in LOSSES and call.rows]
    found += [_judge_declared(one) for one in measured.all(DeclaredLoss) if not one.from_logits]
    return clearest([*found, other_loss(ID, measured, frozenset(LOSSES))])


def _judge_declared(one: DeclaredLoss) -> Observation | None:
    if one.activation == "linear":
        kind = "sigmoid" if one.binary else "softmax"
        text = f"{one.loss} wants probabilities (from_logits=False), but the last layer gives raw scores: no {kind}."
        return seen(ID, True, text, at=one)
    if one.activation in ("softmax", "sigmoid"):
        return seen(ID, False, f"{one.loss} is given the result of a {one.activation}.", at=one)
    return None


def _judge_call(call: LossCall) -> Observation | None:
    if call.made_by == "LogSoftmax" and call.made_uncut:
        return seen(ID, False, f"{call.loss} is given the result of a log-softmax.", at=call)
    limit = LOG_SUM_HALF if call.input_type in HALF else LOG_SUM
    if limit.reached(call.log_sum) and not SOME_RIGHT.reached(call.log_probability_rows):
        normalised = NEARLY_ALL.reached(call.probability_rows)
        what = "probabilities, without their logarithm" if normalised else "raw scores"
        text = (
            f"{call.loss} is given {what}: exp of a row sums to {num(call.log_sum)} in the log (0 for "
            "log-probabilities)."
        )
        return seen(ID, True, text, at=call)
    if NEARLY_ALL.reached(call.log_probability_rows):
        return seen(ID, False, f"{call.loss} is given log-probabilities: exp of each row sums to 1.", at=call)
    return None


SYMPTOM = Symptom(
    id=ID,
    title="raw scores given to a loss that wants log-probabilities",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
`nll_loss` or `kl_div` is given scores, or probabilities without their logarithm. It only picks numbers out of its
input, so the loss has no lower bound.

## How it is measured
A recording sums exp of the input over the classes. For log-probabilities that is 1, its logarithm 0; a logarithm
of 0.05 and more (0.2 in half precision) in the median row, with less than a tenth of the rows near 0, cannot come from
log-probabilities. Where the autograd graph shows that a log-softmax made the input, it is absent.

## Healthy range
The logarithm of the sum is 0 to rounding. Below zero (a distribution that leaves something out) nothing is said.

## What it usually means
A missing `log_softmax`, or `softmax` where `log_softmax` was meant.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "logits in nll_loss",
            "present",
            measured=(
                LossCall(loss="nll_loss", rows=64, classes=10, made_by="Addmm", log_sum=2.41, where="train.py:42"),
            ),
        ),
        Case(
            "probabilities in nll_loss",
            "present",
            measured=(LossCall(loss="nll_loss", rows=64, classes=10, log_sum=2.4, probability_rows=1.0),),
        ),
        Case(
            "a log-softmax over another dimension is another fault",
            "absent",
            measured=(LossCall(loss="nll_loss", rows=64, classes=10, made_by="LogSoftmax", log_sum=-0.8),),
        ),
        Case(
            "log of a softmax plus a little",
            "absent",
            measured=(LossCall(loss="nll_loss", rows=64, classes=10, made_by="Log", log_probability_rows=1.0),),
        ),
        Case(
            "a tenth over, in half precision",
            "unknown",
            measured=(LossCall(loss="nll_loss", rows=64, classes=10, input_type="float16", log_sum=0.1),),
        ),
        Case("sums below 1", "unknown", measured=(LossCall(loss="kl_div", rows=64, classes=10, log_sum=-0.7),)),
        Case("cross-entropy", "absent", measured=(LossCall(loss="cross_entropy", rows=64, classes=10, log_sum=2.4),)),
        Case(
            "no activation and from_logits=False",
            "present",
            measured=(
                DeclaredLoss(
                    loss="sparse_categorical_crossentropy",
                    binary=False,
                    from_logits=False,
                    activation="linear",
                    outputs=10,
                ),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
