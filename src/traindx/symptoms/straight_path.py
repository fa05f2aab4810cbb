"""straight-path: the weights went almost straight ahead to the end, so the way was cut short."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Event, Fact, Floats, Series
from traindx.signals import Signals
from traindx.signals.inside import left_over, objective
from traindx.signals.started import trained_before
from traindx.symptoms.base import Case, Symptom, Values, clarity, percent
from traindx.symptoms.recipes import falling

ID = "straight-path"
NORMALISED = ("Adam", "AdamW", "NAdam", "Adamax")  # whose steps are as long as the rate says, whatever the gradient
FEWEST = 30  # updates
OPENING = 4  # values of the distance that give the length of a step
STRAIGHT = 0.5  # of the way lies between its ends; noise alone leaves less than a tenth of it after a hundred steps
PLAIN = 0.85
LEFT = 0.2  # of the first loss
NEAR = 1.0  # times the size of the weights: whoever goes farther runs away
FRESH = 0.5  # of the matrices were dealt out at random when the run began
FIRST_LOOKS = 3  # at the training accuracy
KNOWS = 0.6  # of the way from chance to all right, plus what scatters in small batches: no fresh model is there
SECOND = "lr/optimizer1"  # a rate of another optimiser


def detect(signals: Signals) -> Observation:
    run, curve = signals.run, objective(signals)
    way, rate = run.series.get("weight_travel"), signals.lr
    if way is None or rate is None or curve is None or len(way) < OPENING:
        return Observation(ID, "unknown", "Only a recording of the training from the inside shows this.")
    if run.config.get("optimizer") not in NORMALISED or SECOND in run.series or signals.kind != "supervised":
        return Observation(ID, "unknown", "How long the steps of this optimiser are changes with the gradient.")
    ended = any(event.kind == "finished" for event in run.events)
    fresh = run.config.get("weights_dealt_out")
    if (
        not ended
        or way.steps[-1] < FEWEST
        or not isinstance(fresh, float)
        or fresh < FRESH
        or trained_before(signals)
        or _knew(signals)
    ):
        return Observation(ID, "unknown", "Not a whole training from fresh weights.")
    share, distance = _straightness(way, rate), float(way.values[-1])
    if share is None:
        return Observation(ID, "unknown", "The length of the steps is not known.")
    left = left_over(curve)
    text = f"The weights ended {percent(min(share, 1.0))} of the length of their way from where they began"
    if share < STRAIGHT or left < LEFT or distance > NEAR:
        return Observation(
            ID,
            "absent",
            f"{text}, and {percent(left)} of the loss is left.",
            clarity=0.5 if share > 0.8 * STRAIGHT else 1.0,
        )
    return Observation(
        ID, "present", f"{text}: the steps still agreed when the training stopped, with {percent(left)} of the loss left.",
        (float(curve.x[0]), float(curve.x[-1])), None, clarity(share, STRAIGHT, PLAIN),
    )  # fmt: skip


def _knew(signals: Signals) -> bool:
    """The first answers were right already."""
    seen = signals.run.series.get("train_accuracy")
    if seen is None or not len(seen) or signals.classes is None:
        return False
    chance = 1 / max(2, signals.classes[0])
    return float(np.mean(seen.values[:FIRST_LOOKS])) > chance + KNOWS * (1 - chance)


def _straightness(way: Series, rate: Series) -> float | None:
    """The distance by the length of the way, which is the sum of the rates times what the first steps made of theirs."""
    opening = way.steps[OPENING - 1]
    values, steps = np.where(np.isfinite(rate.values), rate.values, 0.0), rate.steps
    if not np.isfinite(way.values).all() or opening > way.steps[-1] / 2 or not len(values) or values.min() < 0:
        return None
    first, whole = (_area(steps, values, float(end)) for end in (opening, way.steps[-1] - 1))
    if first <= 0 or way.values[OPENING - 1] <= 0:
        return None
    return float(way.values[-1] / (way.values[OPENING - 1] * whole / first))


def _area(steps: Floats, values: Floats, end: float) -> float:
    """The sum of the rates of all updates up to this one; a thinned series stands for those between."""
    every = np.arange(0.0, end + 1, max(1.0, end / 1e5))
    return float(np.interp(every, steps, values).sum() * (end + 1) / len(every))


ENDED = (Event("finished", "The script came to its own end."),)
FACTS = (Fact("no-gradient", False, "All layers receive one."),)
SETTINGS = {"optimizer": "Adam", "weights_dealt_out": 1.0}


def _case(steps: int, distance: float, loss: float, peak: float = 1e-3, gone: bool = False) -> dict[str, Values]:
    rates = peak * np.exp(-np.arange(steps) / 30) if gone else np.full(steps, peak)
    looks = ([0, 1, 2, 3, steps], [0.001, 0.002, 0.003, 0.004, distance])
    return {"weight_travel": looks, "lr": rates, "train_loss": falling(steps, 1.0, loss)}


SYMPTOM = Symptom(
    id=ID,
    title="weights went straight ahead to the end",
    severity="problem",
    family=ID,
    background=0.02,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
When the training ended, its steps still pointed the way of the first ones: the descent had hardly begun to bend, and a good part of the
loss is left.

## How it is measured
For optimisers that normalise their steps (Adam and its kin) the length of the whole way is the sum of the rates times what the first four
updates made of theirs. A recording knows how far the weights are from where they began at the end. Present when that distance is half of
the way or more, a fifth of the first loss is left, the weights moved by less than their own size, they were freshly dealt out (spread
evenly, as torch's layers begin) and the script came to its own end after thirty updates or more. Plain from 85 % on.

## Healthy range
After some hundred updates a tenth to a third: the noise of batches turns the steps about, and a loss that is nearly fitted has no
direction left. With a rate that drops tenfold late in the run up to 70 %, with little loss left.

## What it usually means
A rate that is too low, a rate that was taken away too early, or too few updates. Each of them ends a descent that was under way.
""",
    detect=detect,
    cases=(
        Case("a low rate", "present", lambda: _case(450, 0.3, 0.5), SETTINGS, ENDED, FACTS),
        Case("a rate that is soon gone", "present", lambda: _case(450, 0.028, 0.7, gone=True), SETTINGS, ENDED, FACTS),
        Case("steps that turn about", "absent", lambda: _case(450, 0.06, 0.5), SETTINGS, ENDED, FACTS),
        Case("nearly fitted", "absent", lambda: _case(450, 0.3, 0.05), SETTINGS, ENDED, FACTS),
        Case("runs away", "absent", lambda: _case(4500, 4.0, 0.5), SETTINGS, ENDED, FACTS),
        Case("stopped from outside", "unknown", lambda: _case(450, 0.3, 0.5), SETTINGS, facts=FACTS),
        Case("fine-tuning", "unknown", lambda: _case(450, 0.3, 0.5), {**SETTINGS, "weights_dealt_out": 0.1}, ENDED, FACTS),
        Case("plain SGD", "unknown", lambda: _case(450, 0.3, 0.5), {**SETTINGS, "optimizer": "SGD"}, ENDED, FACTS),
        Case("a log alone", "unknown", lambda: {"train_loss": falling(100, 2.3, 0.5)}),
    ),
)  # fmt: skip
