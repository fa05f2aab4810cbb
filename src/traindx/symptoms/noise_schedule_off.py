"""noise-schedule-off: the noisiest inputs of a diffusion model are no noise, or nearly all of them are."""

from __future__ import annotations

from math import sqrt

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NoisedInputs
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "noise-schedule-off"
ROWS = Threshold(10, "rows of a time", "a correlation of fewer is too uncertain")
SPAN = Threshold(50, "times between the first and the last", "shorter schedules are a design of their own")
ORDER = Threshold(
    0.3, "correlation, by which the last times have less noise than the first", "noise is added as time goes on "
    "(Ho, Jain and Abbeel 2020); sampling goes the other way", strong=0.6,
)  # fmt: skip
LAST = Threshold(
    0.97, "correlation of input and noise in the last tenth of the times",
    "0.99 and more in the linear and cosine schedules (Ho, Jain and Abbeel 2020; Nichol and Dhariwal 2021); sampling "
    "begins with noise alone, which the model has then never seen (Lin et al. 2024)", strong=0.9, side="below",
)  # fmt: skip
FIRST = Threshold(
    0.8, "correlation of input and noise in the first tenth of the times",
    "0.2 to 0.4 in the linear and cosine schedules: fine detail is learnt there", strong=0.95,
)  # fmt: skip
LOOKED_AT = 256  # elements of a row at most
ERRORS = 3.0  # standard errors by which a statistic of normal noise may be off: one in 370 is farther
NORMAL = 0.15  # how far the kurtosis of normal noise may lie from 3 besides
UNIT = 0.05  # and its root mean square from 1
APART = 0.05  # and the correlation of neighbouring elements from 0


def error_of(look: NoisedInputs, rows: int) -> float:
    """The standard error of a correlation over so many rows."""
    return float(1 / sqrt(max(1, rows * min(look.elements, LOOKED_AT))))


def is_noise(look: NoisedInputs) -> bool:
    """Whether what the model learns to give is the noise itself: normal, of unit size at every time, without order."""
    met = [(scale, count) for scale, count in zip(look.scales, look.counts, strict=True) if ROWS.reached(count)]
    unit = bool(met) and all(
        abs(scale - 1) < max(UNIT, ERRORS * error_of(look, count) / sqrt(2)) for scale, count in met
    )
    error = error_of(look, look.rows)
    normal = abs(look.peaks - 3) < max(NORMAL, ERRORS * error * sqrt(24))
    return unit and normal and abs(look.neighbours) < max(APART, ERRORS * error)


def judge(measured: Measured) -> Observation | None:
    look = measured.last(NoisedInputs)
    if look is None or not look.whole or not SPAN.reached(look.highest - look.lowest) or not is_noise(look):
        return None
    if not all(map(ROWS.reached, look.counts)):
        return None
    first, last = look.shares[0], look.shares[-1]
    if max(look.shares) < ERRORS * error_of(look, min(look.counts)):
        return None  # the target is no part of the input at all: target-not-in-input
    begin = f"The noise makes up {num(first)} of the input at the first tenth of the times and {num(last)} at the last"
    span = f" (correlation over {look.rows} rows, times {look.lowest:.0f} to {look.highest:.0f})"
    if ORDER.reached(first - last):
        text = f"{begin}{span}: it grows weaker with time, and the sampler that begins at the last time expects noise."
        return seen(ID, True, text, at=look, clarity=ORDER.clarity(first - last))
    if LAST.reached(last):
        text = f"{begin}{span}: data still show at the last time, but sampling begins with noise alone."
        return seen(ID, True, text, at=look, clarity=LAST.clarity(last))
    if FIRST.reached(first):
        text = f"{begin}{span}: hardly any input shows the data, so that detail cannot be learnt."
        return seen(ID, True, text, at=look, clarity=FIRST.clarity(first))
    return seen(ID, False, f"{begin}{span}.", at=look)


LINEAR = NoisedInputs(
    looks=30, rows=1920, elements=256, lowest=0, highest=999, whole=True, counts=(192,) * 10,
    shares=(0.25, 0.52, 0.72, 0.86, 0.94, 0.98, 0.99, 0.998, 0.999, 1.0), scales=(1.0,) * 10, peaks=3.01,
    neighbours=0.002, left=0.1, step=400,
)  # fmt: skip

SYMPTOM = Symptom(
    id=ID,
    title="the noise schedule does not end in noise",
    severity="problem",
    family=ID,
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The inputs of a model that learns to predict noise hold too little noise at the last time, too much at the first, or
less and less as time goes on.

## How it is measured
A recording keeps the correlation of the model's input with its target, in ten bins of the time. It is judged where
the target is noise (normal, of unit size at every time, neighbours independent) and times are whole numbers. Present
when it is 0.97 or less at the last times, 0.8 or more at the first, or smaller at the last than at the first by 0.3.

## Healthy range
About 0.2 to 0.4 at the first tenth of the times, rising to 0.99 and more at the last.

## What it usually means
Fewer times with the betas of a thousand; a schedule the wrong way round; `alphas` used for `alphas_cumprod`, or a
square root left out or taken twice.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("the linear schedule", "absent", measured=(LINEAR,)),
        Case("a hundred times with the betas of a thousand", "present",
             measured=(replace(LINEAR, highest=99, shares=(0.05, 0.12, 0.2, 0.3, 0.4, 0.5, 0.58, 0.65, 0.72, 0.78)),)),
        Case("the wrong way round", "present", measured=(replace(LINEAR, shares=LINEAR.shares[::-1]),)),
        Case("noise from the first time on", "present",
             measured=(replace(LINEAR, shares=(0.92, 0.99, *(1.0,) * 8)),)),
        Case("data are predicted", "unknown", measured=(replace(LINEAR, peaks=1.8, neighbours=0.7),)),
        Case("a velocity is predicted", "unknown", measured=(replace(LINEAR, scales=(1.3,) * 10),)),
        Case("too few rows", "unknown", measured=(replace(LINEAR, counts=(4,) * 10),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
