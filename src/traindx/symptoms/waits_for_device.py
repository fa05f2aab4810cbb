"""waits-for-device: the loop keeps asking the GPU for numbers and waits for each."""

from __future__ import annotations

from traindx.diagnosis import Observation, State
from traindx.measurements import HostWaits, Measured, WaitingLine
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "waits-for-device"
# What waiting once costs: 148 calls of `.item()` made a step of GPT-2 124M on an H200 longer by 8 ms
# (docs/benchmarks.md)
WAIT_SECONDS = 5e-5
STEPS = fitted(f"{ID}.steps", 5, unit="steps watched")
WAITS = fitted(f"{ID}.waits", 8, unit="waits in a step")
SHARE = fitted(f"{ID}.share", 0.1, unit="of a step", strong=0.3)
CHEAP = fitted(f"{ID}.absent-share", 0.05, unit="of a step, to be called absent", side="below")
CLEAR = 0.8  # clarity of a finding that is not strong


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(HostWaits) if STEPS.reached(one.steps)]
    costly = [one for one in looks if WAITS.reached(one.waits) and SHARE.reached(_share(one))]
    if costly:
        worst = max(costly, key=_share)
        named = ", ".join(f"{line.line} `{line.code}` {int(line.waits)} times" for line in worst.lines)
        text = (
            f"The host waits for the GPU {worst.waits} times in every step ({named}): "
            f"about {percent(_share(worst))} of {worst.step_seconds * 1e3:.3g} ms."
        )
        clarity = max(CLEAR, SHARE.clarity(_share(worst)))
        return seen(ID, True, text, at=costly[0], where=worst.lines[0].line, clarity=clarity)
    cheap = [one for one in looks if not WAITS.reached(one.waits) or CHEAP.reached(_share(one))]
    return seen(ID, False, _few(cheap[-1]), at=cheap[-1]) if cheap else None


def _share(look: HostWaits) -> float:
    return min(1.0, look.waits * WAIT_SECONDS / look.step_seconds)


def _few(look: HostWaits) -> str:
    if not look.lines:
        return "No line of the loop makes the host wait for the GPU."
    times = f"{look.waits} time{'s' if look.waits > 1 else ''}"
    return f"The host waits for the GPU {times} in a step of {look.step_seconds * 1e3:.3g} ms ({look.lines[0].line})."


def _case(story: str, state: State, waits: int, seconds: float, steps: int = 12) -> Case:
    lines = (WaitingLine(line="train.py:57", code="p.grad.norm().item()", waits=waits),) if waits else ()
    return Case(story, state, measured=(HostWaits(steps=steps, step_seconds=seconds, waits=waits, lines=lines),))


SYMPTOM = Symptom(
    id=ID,
    title="the host waits for the GPU many times a step",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording on a GPU (traindx run)",),
    doc="""
## What is observed
In every step lines of the training script stop until the GPU has finished all it was given: `.item()`, `.cpu()`,
`print(loss)`, a condition on a tensor. The GPU then idles until Python has queued the next kernels.

## How it is measured
On the few steps that a recording looks at closely, torch's sync debug mode names every operation that waits; they are
counted by file and line from one update to the next, and the median step counts, so that a validation in between does
not. Waits of the recorder itself are left out. One wait costs about 50 µs beside a GPU (148 of them made a step of
GPT-2 124M on an H200 longer by 8 ms). Present from eight waits and a tenth of the step on, absent below eight or
below a twentieth; nothing is said before five steps, or without CUDA.

## Healthy range
A few in a step: one for the logged loss, one for a gradient scaler, one for a batch that is copied without
`non_blocking=True`. With steps of 100 ms and more even fifty cost little.

## What it usually means
Norms or metrics fetched parameter by parameter, a progress bar or a check for NaN at every step, metric libraries that
compare on the host. Keep the numbers on the device and fetch them together, now and then.
""",
    detect=from_measurements(ID, judge),
    cases=(
        _case("the norm of each parameter", "present", 148, 0.026),
        _case("the logged loss", "absent", 1, 0.026),
        _case("no wait at all", "absent", 0, 0.026),
        _case("seven in a short step", "absent", 7, 0.003),
        _case("fifty in a step of 100 ms", "absent", 50, 0.1),
        _case("between cheap and costly", "unknown", 50, 0.03),
        _case("four steps are too few", "unknown", 148, 0.026, steps=4),
        Case("a log alone", "unknown"),
    ),
)
