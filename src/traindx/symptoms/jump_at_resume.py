"""jump-at-resume: loss or learning rate jump where a training goes on from a checkpoint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured
from traindx.run import Event, Floats, Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling
from traindx.symptoms.restored import EXAMPLE, RISE, done, resumed, rise
from traindx.thresholds import Threshold, fitted

ID = "jump-at-resume"
NOISE = fitted(f"{ID}.noise", 5.0, unit="times the scatter of the loss before the resume")
POINTS = Threshold(6, "values on either side", "fewer have no level")
RATE = Threshold(
    0.5, "of the rate before the resume", "a schedule moves by far less between two logged values", side="below"
)
WINDOW = 10  # values that a level is the median of
PEAK = 3  # values after the resume of which the median is taken at the worst place


class _Sides(NamedTuple):
    before: Floats
    after: Floats


def judge(measured: Measured) -> Observation | None:
    look = resumed(measured)
    if look is None:
        return None
    rose = rise(look)
    if rose is None:
        return None
    sentence = f"After a resume at {done(look)} the loss went to {rose:.2f} times what the restored weights gave"
    restored = ", ".join(
        f"{name} {'restored' if was else 'not restored'}"
        for name, was, there in (
            ("optimiser", look.optimizer_loaded, look.stateful),
            ("schedule", look.scheduler_loaded, look.scheduled),
            ("random numbers", look.rng_loaded, True),
        )
        if there
    )
    present = RISE.reached(rose)
    return seen(ID, present, f"{sentence} ({restored}).", at=look, clarity=RISE.clarity(rose) if present else 1.0)


def from_log(signals: Signals) -> Observation:
    """Where the counter of a log went back, or its header was written again."""
    restarts = [event for event in signals.run.events if event.kind == "restart" and event.step is not None]
    # losses of a policy follow the data it makes: where they stand says nothing
    main = signals.train if signals.kind == "supervised" else None
    if not restarts:
        return Observation(ID, "unknown", "Nothing says that this training went on from a checkpoint.")
    if main is None and signals.lr is None:
        return Observation(ID, "unknown", "There is no training loss at the resume.")
    calm = 0
    for event in restarts:
        place = float(event.step or 0.0)
        found = _rate(signals.lr, place) or (_loss(main.series, place) if main is not None else None)
        if found is not None and found[0]:
            return Observation(ID, "present", found[1], (place, place), main.name if main is not None else None)
        calm += found is not None
    if not calm:
        return Observation(ID, "unknown", "Too few values lie around the resume.")
    judged = main.name if main is not None else "The learning rate"
    return Observation(ID, "absent", f"{judged} goes on as it was at the resume.")


def _loss(series: Series, place: float) -> tuple[bool, str] | None:
    sides = _around(series, place)
    if sides is None:
        return None
    before, after = sides
    level = float(np.median(before))
    scatter = float(np.median(np.abs(before - level))) * 1.4826
    worst = max(float(np.median(after[i : i + PEAK])) for i in range(max(1, len(after) - PEAK + 1)))
    jumped = level > 0 and RISE.reached(worst / level) and NOISE.reached((worst - level) / max(scatter, 1e-9 * level))
    return jumped, f"{series.name} jumped from {num(level)} to {num(worst)} at the resume (step {num(place)})."


def _rate(rates: Series | None, place: float) -> tuple[bool, str] | None:
    sides = _around(rates, place) if rates is not None else None
    if sides is None or rates is None or sides.before[-1] <= 0:
        return None
    before, after = float(sides.before[-1]), float(sides.after[0])
    if not RATE.reached(after / before) or float(sides.after[-1]) <= after:
        return None
    return True, (
        f"{rates.name} fell from {num(before)} to {num(after)} at the resume (step {num(place)}) and warms up again."
    )


def _around(series: Series, place: float) -> _Sides | None:
    known = np.isfinite(series.values)
    values, steps = series.values[known], series.steps[known]
    before, after = values[steps < place][-WINDOW:], values[steps >= place][:WINDOW]
    return _Sides(before, after) if POINTS.reached(min(len(before), len(after))) else None


RESUMED = 120  # the value of the example from which on it is another process


def _jump(height: float) -> list[float]:
    curve = list(falling(200, 2.0, 1.0))
    return [value + (height * np.exp(-(i - RESUMED) / 15) if i >= RESUMED else 0.0) for i, value in enumerate(curve)]


RESTART = (Event("restart", "went back from 130 to 120 and went on", 120.0),)

SYMPTOM = Symptom(
    id=ID,
    title="loss or learning rate jumps at a resume",
    severity="problem",
    family="resume-jump",
    background=0.01,
    needs=("a log across the resume, or a recording of the training (traindx run)",),
    doc="""
## What is observed
A training goes on from a checkpoint, and the loss rises there, or the learning rate falls and warms up again.

## How it is measured
In a log: where the counter goes back or the header is written again, the level of the loss before is compared with the
worst place of the ten values after, by ratio and by the scatter of the loss; of the rate the last value before and the
first after. In a recording: the loss of the first updates by what the restored weights gave at first. Which of
optimiser, schedule and random numbers were restored is said too.

## Healthy range
The loss joins its old curve within its noise.

## What it usually means
The optimiser's state, the schedule or the order of the data was not restored with the weights.
""",
    detect=from_measurements(ID, judge, from_log),
    cases=(
        Case("the loss jumps", "present", lambda: {"loss": _jump(0.8)}, events=RESTART),
        Case("it joins its curve", "absent", lambda: {"loss": _jump(0.0)}, events=RESTART),
        Case("the rate warms up again", "present", lambda: {
            "loss": _jump(0.0), "lr": [1e-3] * 120 + list(np.linspace(1e-5, 1e-3, 80))}, events=RESTART),
        Case("a jump without a resume", "unknown", lambda: {"loss": _jump(0.8)}),
        Case("a recording", "present",
             measured=(replace(EXAMPLE, losses=(1.0, 1.0, *[1.7] * 20, *[1.2] * 20)),)),
        Case("a recording without a jump", "absent", measured=(EXAMPLE,)),
    ),
)  # fmt: skip
