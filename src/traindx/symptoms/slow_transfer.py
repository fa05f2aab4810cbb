"""slow-transfer: the loop stands still while batches are copied to the GPU."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "slow-transfer"

SYMPTOM = Symptom(
    id=ID,
    title="copying batches to the GPU takes a good part of the step",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording on a GPU (traindx run)",),
    doc="""
## What is observed
Between the loader and the model the batch is copied to the GPU, and the loop waits for the copy.

## How it is measured
On a few steps that a recording looks at closely: the time from the moment the loader hands out a batch in host memory to the
call of the model with a tensor of the same shape and type on the GPU. The GPU is idle when the clock starts, so that earlier
work is not waited for by the copy, and the recorder's own time is left out. Present when the middle of these times is a tenth
of a step or more, and a millisecond at least. Code of the loop between the two counts too: it stands between the batch and
the GPU like the copy. Without CUDA it is unknown.

## Healthy range
Below a few per cent. From pinned memory a GPU takes 10 to 50 GB/s, from other memory a few GB/s.

## What it usually means
No `pin_memory=True` in the loader and no `non_blocking=True` in `.to(device)`; batches sent as float32 that could travel as
uint8 and be scaled on the GPU; augmentation in the loop instead of in the workers.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "A batch of 77 MB takes 21 ms from the loader to the model on the GPU, from memory that is not pinned: 35% of the 60 ms of a step.",
        "A batch of 0.4 MB takes 0.1 ms from the loader to the model on the GPU, 0.3% of a step.",
    ),
)
