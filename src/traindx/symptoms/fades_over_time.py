"""fades-over-time: the gradient of a recurrent layer fades from time step to time step."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RateAlong
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_probe, seen
from traindx.symptoms.rates_along import along_time, change, is_sure, rate_of, time_sentence
from traindx.thresholds import Threshold

ID = "fades-over-time"
FORGOTTEN = Threshold(
    8.0,
    "powers of ten from the last time step to the first",
    "added to the gradient of the last steps, single precision rounds less than 2^-24 = 6e-8 of it away",
    strong=16.0,
)


def judge(measured: Measured) -> Observation | None:
    look = longest_memory(measured)
    if look is None or (FORGOTTEN.reached(change(look)) and not is_sure(look)):
        return None
    text = f"Along time {time_sentence(look.where, rate_of(look))}."
    fades = shows_fading(look)
    return seen(ID, fades, text, at=look, clarity=FORGOTTEN.clarity(change(look)) if fades else 1.0)


def longest_memory(measured: Measured) -> RateAlong | None:
    """The recurrent layer along which the gradient fades most."""
    return next(iter(along_time(measured)), None)


def shows_fading(look: RateAlong) -> bool:
    return FORGOTTEN.reached(change(look)) and is_sure(look)


def _memory(back: float, error: float = 0.01) -> RateAlong:
    return RateAlong(what="time", per_step=1 / back, error=error, steps=100, where="rnn")


SYMPTOM = Symptom(
    id=ID,
    title="the gradient fades along time",
    severity="note",
    family="gradient-size",
    background=0.1,
    needs=("a probe of the model (traindx gradients)",),
    doc="""
## What is observed
What the first time steps of a sequence should have been reaches the weights of a recurrent layer only in traces.

## How it is measured
By a probe: the last time step's output is differentiated by the input of every step, or in loops written by hand by the
same layer's output of every earlier call. The rate per time step is the median of all pairwise slopes of the norm's
logarithm. Present when less than 1e-8 is left at the first step and the rate is at least five standard errors away from
no change; plain from 1e-16.

## Healthy range
It depends on how far back the answer lies. PyTorch's default initialisation keeps about 0.55 of the gradient a step in
RNN and 0.62 in LSTM and GRU layers, so that 30 to 40 steps reach 1e-8 before training: a note, no problem by itself. A
forget gate with a bias of 2 keeps 0.97.

## What it usually means
Where the task needs the beginning of the sequence, the layer cannot learn it: gates, a forget bias, shorter sequences
or attention help. Where the last steps decide, nothing is wrong.
""",
    detect=from_probe(ID, judge),
    cases=(
        Case("half of it a step", "present", probed=(_memory(0.55),)),
        Case("nearly all of it a step", "absent", probed=(_memory(0.97),)),
        Case("a rate that is not sure", "unknown", probed=(_memory(0.55, error=0.2),)),
        Case("a log alone", "unknown"),
    ),
)
