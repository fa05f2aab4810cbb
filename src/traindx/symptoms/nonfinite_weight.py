"""nonfinite-weight: parameters are NaN or Inf."""

from __future__ import annotations

import re

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.inside import nonfinite
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact
from traindx.symptoms.recipes import falling, flat, put
from traindx.symptoms.reported import counted, counters, said

ID = "nonfinite-weight"
NAN = float("nan")
_MESSAGE = re.compile(
    r"Detected nan and/or inf values in `([^`]+)`"  # Lightning, detect_nan_parameters
    r"|(?:parameters?|weights?) (?:is|are|contains?|has|have) (?:nan|inf|non-?finite)",
    re.IGNORECASE,
)


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE) or counted(ID, signals.run, "weight")
    if reported is not None:
        return reported
    series = [one for one in signals.run.of("weight_norm") if len(one)]
    if not series and not counters(signals.run, "weight"):
        return Observation(ID, "unknown", "No weight norm was logged.")
    found = [bad for bad in map(nonfinite, series) if bad is not None]
    if not found:
        return Observation(ID, "absent", f"All {sum(map(len, series))} logged weight norms are finite.")
    origin = min(found, key=lambda bad: bad.first)
    if not origin.lasting and not origin.ending:
        # a weight that was NaN once stays NaN: a norm that came back was a fault of the measurement
        return Observation(ID, "absent", f"{origin.sentence}: NaN weights do not heal, so this was the logging.")
    return Observation(
        ID, "present", f"{origin.sentence}.", (origin.first, max(bad.last for bad in found)),
        origin.series.meaning.where or origin.series.name,
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="weights are NaN or Inf",
    severity="problem",
    family="nonfinite",
    background=0.005,
    needs=("weight norm",),
    doc="""
## What is observed
Parameters hold NaN or Inf. From here on every output is NaN, and every checkpoint saved is worthless.

## How it is measured
Logged norms and statistics of weights, counters of non-finite parameters, and Lightning's message that names the
parameter. The parameter hit at the earliest step is given. NaN in a weight never heals, so a norm that is finite again
later is put down to the logging and not counted; neither is a lone NaN in the first row.

A checkpoint shows it directly: `traindx checkpoint` counts the elements that are not finite, tensor by tensor.

## Healthy range
None. The last checkpoint before the step named here is the one to go back to.

## What it usually means
A non-finite gradient was applied: no loss scaler in fp16, no guard around the optimiser step, or an optimiser state
that overflowed (a square of a large gradient in fp16, epsilon too small for the precision). Weights that are Inf first
and NaN later grew without bound: learning rate too high or missing decay.
""",
    detect=from_fact(ID, otherwise=detect),
    cases=(
        Case("NaN for good", "present", lambda: {"params norm": put(flat(80, 310.0, 0.001), 60, *[NAN] * 20)}),
        Case("one parameter first", "present",
             lambda: {"weight_norm/fc1": put(flat(40, 5.0), 21, *[NAN] * 19),
                      "weight_norm/fc2": put(flat(40, 5.0), 20, *[NAN] * 20)}),
        Case("a gap in the logging", "absent", lambda: {"params norm": put(flat(80, 310.0, 0.001), 30, NAN, NAN)}),
        Case("growing norm", "absent", lambda: {"weight_norm": 400 - falling(100, 300.0, 50.0)}),
        Case("not logged", "unknown", lambda: {"loss": falling(100, 2.3, 0.4)}),
    ),
)  # fmt: skip
