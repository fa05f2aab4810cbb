"""waits-for-device: the loop keeps asking the GPU for numbers and waits for each."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "waits-for-device"

SYMPTOM = Symptom(
    id=ID,
    title="the host waits for the GPU many times a step",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording on a GPU (traindx run)",),
    doc="""
## What is observed
In every step lines of the training script stop until the GPU has finished all it was given: `.item()`, `.cpu()`, `print(loss)`,
a condition on a tensor. The GPU then idles until Python has queued the next kernels.

## How it is measured
On the few steps that a recording looks at closely, torch's sync debug mode names every operation that waits; they are
counted by file and line from one update to the next, and the middle one of the steps counts, so that a validation in between
does not. Waits of the recorder itself are left out. One wait costs about 50 µs beside a GPU (148 of them made a step of
GPT-2 124M on an H200 longer by 8 ms). Present from eight waits and a tenth of the step on. Without CUDA it is unknown.

## Healthy range
A few in a step: one for the logged loss, one for a gradient scaler, one for a batch that is copied without
`non_blocking=True`. With steps of 100 ms and more even fifty cost little.

## What it usually means
Norms or metrics fetched parameter by parameter, a progress bar or a check for NaN at every step, metric libraries that
compare on the host. Keep the numbers on the device and fetch them together, now and then.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The host waits for the GPU 148 times in every step (train.py:57 `p.grad.norm().item()` 147 times): about 28% of 26 ms.",
        "The host waits for the GPU 1 time in a step of 26 ms (train.py:60).",
    ),
)
