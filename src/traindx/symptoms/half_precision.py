"""half-precision: trains in half precision."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import ANSWERS, Observation
from traindx.run import Event
from traindx.signals import Signals, lookup
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling, flat

ID = "half-precision"
_HALF_WORDS = re.compile(r"fp16|float16|half.precision|loss.?scale|grad.?scaler|\bamp\b", re.IGNORECASE)
UNSTATED_CLARITY = 0.9  # clarity where nothing speaks of it: loggers seldom hide a loss scale


def detect(signals: Signals) -> Observation:
    run = signals.run
    half = lookup.half_precision(run.config)
    scaled = any(bool((one.values > 1).any()) or np.ptp(one.values) > 0 for one in run.of("loss_scale") if len(one))
    if half or scaled or any(_HALF_WORDS.search(event.text) for event in run.events):
        return Observation(ID, "present", "The run trains in half precision (fp16).")
    if half is False:
        return Observation(ID, "absent", "The settings say that the run does not train in fp16.")
    if run.config.get("input_dtype") in ("float32", "float64"):
        return Observation(ID, "absent", "The inputs are in single precision and no loss scaling was seen.")
    if run.seen_inside or run.format == ANSWERS:
        return Observation(ID, "unknown", "The precision of the training is not known.")
    return Observation(ID, "absent", "Nothing in the log speaks of half precision.", clarity=UNSTATED_CLARITY)


SYMPTOM = Symptom(
    id=ID,
    title="trains in half precision",
    severity="note",
    kind="setting",
    family="setting precision",
    background=0.25,
    needs=("settings of the run",),
    doc="""
## What is observed
Settings, a loss scale or a line of the log speak of fp16.

## How it is measured
A setting (`fp16`, `precision=16`, `amp` …), a logged loss scale that is above 1 or changes, or an event that names
one. Absent where the settings rule it out, and in a log where nothing speaks of it: a scaler writes its scale.

## Healthy range
Either is fine.

## What it usually means
Without it a NaN is not an overflow of fp16.
""",
    detect=detect,
    cases=(
        Case("a setting", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"fp16": True}),
        Case("a loss scale", "present", lambda: {"loss": falling(50, 2.0, 1.0), "loss scale": flat(50, 65536.0, 0)}),
        Case("an overflow was reported", "present", lambda: {"loss": falling(50, 2.0, 1.0)},
             events=(Event("warning", "reducing loss scale to 32768"),)),
        Case("ruled out", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"fp16": False}),
        Case("nothing speaks of it", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
