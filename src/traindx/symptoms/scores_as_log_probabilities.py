"""scores-as-log-probabilities: raw scores given to a loss that wants log-probabilities."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "scores-as-log-probabilities"

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
above 0.05 (0.2 in half precision) in the middle row, with hardly any row near 0, cannot come from log-probabilities.

## Healthy range
The logarithm of the sum is 0 to rounding. Below zero (a distribution that leaves something out) nothing is said.

## What it usually means
A missing `log_softmax`, or `softmax` where `log_softmax` was meant.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "nll_loss is given raw scores: exp of a row sums to 2.41 in the log (0 for log-probabilities).",
        "Exp of each row sums to 1.",
    ),
)
