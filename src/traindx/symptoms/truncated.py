"""truncated: the run ended before its plan."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Event
from traindx.signals import Signals
from traindx.signals.curve import counted
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.recipes import falling

ID = "truncated"
MESSAGE = 160  # characters
ENDED = {"killed": "The training was stopped", "complaint": "The log ends with an error message"}
DONE = 0.95  # of the plan counts as finished


def detect(signals: Signals) -> Observation:
    run = signals.run
    crash = run.cut_off
    if crash is not None:
        step = None if crash.step is None else (crash.step, crash.step)
        how = ENDED.get(crash.kind, "The log ends in a crash")
        return Observation(ID, "present", f"{how}: {in_short(crash.text)}", step)
    ended = next((event for event in run.events if event.kind in ("finished", "early-stop")), None)
    if ended is not None:
        return Observation(ID, "absent", f"The log says: {ended.text[:120]}")
    reached = progress_made(signals)
    if reached is None:
        return Observation(ID, "unknown", "How long the run was meant to be is not known.")
    share, plan, unit = reached
    if share < DONE:
        return Observation(
            ID,
            "present",
            f"The log ends at {percent(share)} of the planned {counted(plan)} {unit}s.",
            None,
            None,
            1.0 if share < 0.8 else 0.6,
        )
    return Observation(ID, "absent", f"The run reached its planned {counted(plan)} {unit}s.")


def in_short(text: str) -> str:
    """The first sentences of a message, as many as fit in two lines."""
    text = text.rstrip(": ")
    if len(text) <= MESSAGE:
        return text
    whole, end, _ = text[:MESSAGE].rpartition(". ")
    return f"{whole}." if end else f"{text[:MESSAGE]}…"


def progress_made(signals: Signals) -> tuple[float, float, str] | None:
    """The share of the plan that was carried out, the plan and its unit; None where there is no plan in the config."""
    if signals.planned is None:
        return None
    plan, unit = signals.planned
    last = [series for series in signals.run.series.values() if series.axis == unit and len(series)]
    if last:
        reached = max(float(series.steps[-1]) for series in last)
        first = min(float(series.steps[0]) for series in last)
        done = reached + (1 if unit == "epoch" and first < 1 else 0)
        share = done / plan
        return (share, plan, unit) if math.isfinite(share) and 0 < share <= 1.5 else None
    epochs = [series for series in signals.run.of("epoch") if len(series)]
    if unit == "epoch" and epochs:
        reached = float(np.nanmax([np.nanmax(series.values) for series in epochs]))
        first = float(np.nanmin([np.nanmin(series.values) for series in epochs]))
        share = (reached + (1 if first < 1 and reached == int(reached) else 0)) / plan
        return (share, plan, unit) if math.isfinite(share) and 0 < share <= 1.5 else None
    return None


SYMPTOM = Symptom(
    id=ID,
    title="ended before its plan",
    severity="note",
    family="end",
    background=0.15,
    needs=("planned steps or epochs",),
    doc="""
## What is observed
The log stops early: a crash, a kill, or simply fewer steps than planned.

## How it is measured
Tracebacks, out-of-memory errors and kills in the log; else the last step or epoch against the planned one from the
configuration or from counters such as `iteration 190/1000`. A log that says it finished or stopped early on purpose
did.

## Healthy range
At least 95 % of the plan, or a deliberate early stop.

## What it usually means
Infrastructure (memory, time limit, a worker that died) more often than learning. Out of memory and data-loader crashes
are not diagnosed here; the page says where to look instead.
""",
    detect=detect,
    cases=(
        Case("a fifth of the plan", "present", lambda: {"loss": falling(200, 12, 7)}, {"max_steps": 1000}),
        Case("out of memory", "present", lambda: {"loss": falling(20, 2, 1)}, {},
             (Event("oom", "CUDA out of memory"),)),
        Case("finished", "absent", lambda: {"loss": falling(1000, 2, 1)}, {"max_steps": 1000}),
        Case("no plan", "unknown", lambda: {"loss": falling(100, 2, 1)}),
    ),
)  # fmt: skip
