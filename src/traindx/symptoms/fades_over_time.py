"""fades-over-time: the gradient of a recurrent layer fades from time step to time step."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "fades-over-time"

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
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "Along time the gradient of rnn is ×0.55 ± 0.01 for every step back: 1.1e-26 of it over 100 steps.",
        "Along time the gradient of rnn is ×0.97 ± 0.01 for every step back: 0.048 of it over 100 steps.",
    ),
)
