"""memory-growth: memory grows with every step."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "memory-growth"

SYMPTOM = Symptom(
    id=ID,
    title="memory grows with every step",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The memory of the process, or what tensors take on the GPU, climbs steadily after the training has warmed up.

## How it is measured
Resident memory and allocated GPU memory a few times a second. Present when a straight line through the last three quarters of
the readings explains them (95 %) and climbs by at least 64 MB and a tenth. Whether graphs of earlier losses are still
alive is seen by a marker that dies with them.

## Healthy range
A level after the first steps; caches of workers and allocators fill up and stop.

## What it usually means
Losses or outputs are kept with their graphs: `total += loss` or `outputs.append(out)` where `loss.item()` or `out.detach()` is
meant.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Memory grows by 0.8 MB with every update, 410 MB so far; the graphs of earlier losses are still alive (a loss kept without .item()).",
        "Memory stays at 812 MB.",
    ),
)
