"""schedule-per-batch: a scheduler with numbers for epochs is stepped with every batch."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "schedule-per-batch"

SYMPTOM = Symptom(
    id=ID,
    title="scheduler runs in the wrong unit",
    severity="problem",
    family="schedule-unit",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A scheduler is stepped once for every update, but its numbers fit epochs: the rate is gone long before the end.

## How it is measured
Scheduler steps by updates (nine in ten at least), and what became of the rate: below 1 % of its peak before a third of
the run, or, less plainly, by the middle of it.

## Healthy range
Stepped per batch with numbers in batches, or per epoch with numbers in epochs. Warm restarts and one-cycle schedules
are made for batches.

## What it usually means
scheduler.step() one level too deep in the loops.
""",
    detect=from_fact(ID),
    cases=(
        Case("StepLR(10) each batch", "present",
             facts=(Fact(ID, True, "StepLR (step_size=10) was stepped with every batch: the rate fell below 1 % of its peak after 4 % of the run."),)),
        Case("in batches", "absent", facts=(Fact(ID, False, "CosineAnnealingLR was stepped with every batch, and its numbers fit that."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
