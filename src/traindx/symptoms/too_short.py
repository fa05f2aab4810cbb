"""too-short: too little evidence to say."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import PROBES
from traindx.signals import Signals
from traindx.signals.curve import Curve, counted
from traindx.signals.inside import learned
from traindx.signals.rates import still_warming_up
from traindx.signals.scatter import lost_in_noise
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.policy import CERTAIN_ROWS, at_its_top, rises
from traindx.symptoms.recipes import falling, flat
from traindx.symptoms.truncated import progress_made

ID = "too-short"
POINTS = 5
STEPS = 100  # optimiser steps, where the log counts single ones
STILL = 10  # rows that are equal to the last digit
TICKS = 30  # a counter with fewer ticks than this counts epochs or evaluations, not steps
OF_PLAN = 0.05
RAN_OUT = 0.01  # of the peak rate


def detect(signals: Signals) -> Observation:
    curve = signals.main
    points = 0 if curve is None else len(curve.series)
    if curve is None or points == 0:
        return _without_values(signals)
    if points < POINTS:
        return Observation(
            ID,
            "present",
            f"{curve.name} has {points} values; {POINTS} are the least that show a trend.",
            where=curve.name,
        )
    if signals.kind == "gan" and points < 3 * POINTS:
        return Observation(
            ID,
            "present",
            f"Adversarial losses swing by design; {points} values are too few to judge them.",
            where=curve.name,
        )
    if points >= STILL and curve.constant:
        return Observation(ID, "absent", f"{curve.name} is the same in all {points} rows: more of them tell no more.")
    begun = _hardly_begun(signals, points) or _no_progress_shown(signals, curve)
    if begun:
        return Observation(ID, "present", begun)
    single = curve.series.axis == "step" and np.median(np.diff(curve.series.steps)) <= 1.0
    span = float(curve.series.steps[-1] - curve.series.steps[0])
    ended = any(event.kind in ("finished", "early-stop") for event in signals.run.events)
    # a step of a policy is a whole batch of answers or episodes, often with several updates
    ended = ended or _rate_ran_out(signals)
    ended = ended or (signals.trainer is not None and signals.trainer.task == "rl" and points >= TICKS)
    cut = signals.run.format == "recording" and signals.run.died is not None  # its ticks are known to be updates
    ticking = points >= TICKS or cut or _hardly_evaluated(signals, points)
    if single and ticking and points == span + 1 < STEPS and not _epochs_known(signals) and not ended:
        return Observation(
            ID,
            "present",
            f"The log covers only {curve.at(float(curve.series.steps[0]))} to {curve.series.steps[-1]:.0f}; the first "
            f"{STEPS} steps are the very beginning of a training.",
        )
    if signals.kind != "rl" and not _epochs_known(signals) and lost_in_noise(curve):
        return Observation(
            ID,
            "present",
            f"The {points} values of {curve.name} scatter by their own size; as many more, or larger batches, would "
            f"show whether it moves.",
            where=curve.name,
        )
    return Observation(ID, "absent", f"{curve.name} has {points} values.")


def _rate_ran_out(signals: Signals) -> bool:
    """A rate that falls to nothing in the last row ends where it was planned to."""
    lr = signals.lr
    return lr is not None and len(lr) >= TICKS and 0 <= lr.values[-1] < RAN_OUT * float(np.nanmax(lr.values))


def _hardly_begun(signals: Signals, points: int) -> str:
    """How little of its plan the run has done, or ''."""
    reached = progress_made(signals)
    if reached is not None and reached[0] < OF_PLAN:
        return f"The log covers {percent(reached[0])} of the planned {counted(reached[1])} {reached[2]}s."
    return still_warming_up(signals) if points < TICKS else ""


def _no_progress_shown(signals: Signals, curve: Curve) -> str:
    """Why a reward cannot tell whether a policy that a recording saw gets better, or ''."""
    if signals.ordinary or signals.paired or signals.kind != "rl" or CERTAIN_ROWS.reached(len(curve)):
        return ""
    if learned(curve) or rises(curve) or at_its_top(signals):
        return ""
    return (
        f"{curve.name} has {len(curve)} values and no clear rise, and the loss of a policy does not show whether it "
        f"gets better: {CERTAIN_ROWS.value:.0f} values can."
    )


def _without_values(signals: Signals) -> Observation:
    if signals.run.format == "checkpoint":
        return Observation(
            ID, "present", "A checkpoint alone shows the weights at one moment, not whether the training went well."
        )
    if signals.run.config.get(PROBES):
        return Observation(ID, "present", "Probes show the model at one moment, not how its training goes.")
    if signals.kind == "gan":
        return Observation(
            ID,
            "unknown",
            "The losses of two networks that train against each other do not show how far the training got.",
        )
    if not signals.ordinary:
        return Observation(
            ID, "present", "No reward was seen, and the loss of a policy does not show whether it gets better."
        )
    return Observation(ID, "present", "No value of any objective was logged.")


def _epochs_known(signals: Signals) -> bool:
    """A log with evaluations or epochs in it shows whole passes, so single steps are not all there is."""
    val = signals.val if signals.val is not None else signals.score
    return val is not None and len(val) >= 3


def _hardly_evaluated(signals: Signals, points: int) -> bool:
    """An evaluation that comes once in many ticks: those count steps, however few they are."""
    val = signals.val if signals.val is not None else signals.score
    return val is not None and 0 < 4 * len(val.series) < points


SYMPTOM = Symptom(
    id=ID,
    title="too little evidence to say",
    severity="note",
    family="end",
    background=0.08,
    needs=("loss",),
    doc="""
## What is observed
There is a log, but not enough of it to judge a training by.

## How it is measured
Fewer than five values of the objective (fifteen for adversarial losses), less than 5 % of the planned length, or 30 to
100 single optimiser steps without any evaluation and without a word that the training was finished (fewer than 100 of
a recording whose training died). A policy of which
no reward was seen is not judged either, nor one whose reward has fewer than 100 values and does not clearly rise. The
verdict is then inconclusive, unless something happened that needs no trend to be seen (NaN, a crash).

## Healthy range
A few epochs, or a few hundred steps with one evaluation.

## What it usually means
Let it run on, or record a short run from the inside: wiring mistakes show within the first steps there.
""",
    detect=detect,
    cases=(
        Case("three epochs", "present", lambda: {"train_loss": [2.0, 1.5, 1.2]}),
        Case("95 steps", "present", lambda: {"train": (range(95), falling(95, 10.9, 7.3, 0.005))}),
        Case("one per cent of the plan", "present", lambda: {"loss": (range(0, 1000, 10), falling(100, 10, 7))},
             {"max_steps": 100000}),
        Case("ten epochs", "absent", lambda: {"train_loss": (range(0, 5000, 500), falling(10, 2, 0.5)),
                                              "val_loss": falling(10, 2, 0.6)}),
        Case("fourteen logged points", "absent", lambda: {"loss": (range(14), falling(14, 6.2, 4.1))}),
        Case("the same number in every row", "absent", lambda: {"loss": (range(12), flat(12, 0.0, 0))},
             {"max_steps": 100000}),
        Case("long run", "absent", lambda: {"train_loss": falling(500, 2, 0.5)}),
    ),
)  # fmt: skip
