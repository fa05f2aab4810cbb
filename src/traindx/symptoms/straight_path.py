"""straight-path: the weights went almost straight ahead to the end, so the way was cut short."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import InitialWeights, LoadedWeights
from traindx.run import Event, Floats, Series
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.inside import left_over, objective
from traindx.signals.started import from_scratch
from traindx.symptoms.base import Case, Symptom, Values, clarity, percent
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold

ID = "straight-path"
NORMALISED = ("Adam", "AdamW", "NAdam", "Adamax")  # whose steps are as long as the rate says, whatever the gradient
FEWEST = 30  # updates
OPENING = 4  # values of the distance that give the length of a step
STRAIGHT = 0.6  # of the way lies between its ends; noise alone leaves less than a tenth of it after a hundred steps
LEFT = 0.2  # of the first loss,
LEFT_BY_SGD = 0.3  # or of plain SGD, whose steps are only known as far as the gradient was looked at
MIN_LOOKS = 8  # at the gradient, the last of them in the second half
STRONG_STRAIGHT = 0.9
_COUNTED = "; of 92 sound trainings of fresh weights none shows all three, of 4 rates far too low all (benchmarks/wild)"
CLOSE = Threshold(
    0.1, "of the size of the weights is how far they came", f"chosen by the counts{_COUNTED}", side="below"
)
AHEAD = Threshold(0.3, "of the way lies between its ends", f"noise leaves a tenth{_COUNTED}")
MOST_LEFT = Threshold(0.5, "of the first loss is left", f"half of it gone is learning{_COUNTED}")
LONGEST = Threshold(1.5, "times its path's length", "no way is longer than its path: the steps were taken for shorter")
STARTED = 0.8  # clarity of a descent that has hardly begun
BEGUN = "the descent has hardly begun."
MAX_UPDATES = 100_000  # updates that are counted one by one
NEAR = 0.7  # of the size of the weights: whoever goes farther has learnt much, or runs away
SECOND = "lr/optimizer1"  # a rate of another optimiser


def detect(signals: Signals) -> Observation:
    run, curve = signals.run, objective(signals)
    way, rate = run.series.get("weight_travel"), signals.lr
    if way is None or rate is None or curve is None or len(way) < OPENING:
        return Observation(ID, "unknown", "Only a recording of the training from the inside shows this.")
    if SECOND in run.series or signals.kind != "supervised":
        return Observation(ID, "unknown", "Which steps the weights took is not known for this kind of training.")
    ended = any(event.kind == "finished" for event in run.events)
    if not ended or way.steps[-1] < FEWEST or not from_scratch(signals):
        return Observation(ID, "unknown", "Not a whole training from fresh weights.")
    least_left = LEFT if run.config.get("optimizer") in NORMALISED else LEFT_BY_SGD
    share, distance = _straightness(way, _steps(signals, rate, int(way.steps[-1]))), float(way.values[-1])
    if share is None or LONGEST.reached(share):
        return Observation(ID, "unknown", "The length of the steps is not known.")
    left = left_over(curve)
    if CLOSE.reached(distance) and AHEAD.reached(share) and MOST_LEFT.reached(left):
        return _hardly_left(curve, distance, share, left)
    text = f"The weights ended up {percent(min(share, 1.0))} of their path's length away from where they began"
    if share < STRAIGHT or left < least_left or distance > NEAR:
        near = 0.5 if share > 0.8 * STRAIGHT else 1.0
        return Observation(ID, "absent", f"{text}, and {percent(left)} of the loss is left.", clarity=near)
    return Observation(
        ID,
        "present",
        f"{text}: the updates still pointed the same way at the end, with {percent(left)} of the loss left.",
        (float(curve.x[0]), float(curve.x[-1])),
        None,
        clarity(share, STRAIGHT, STRONG_STRAIGHT),
    )


def hardly_left(signals: Signals) -> Observation | None:
    """What is said where the descent has hardly begun; None where it has, or where that is not known."""
    found = detect(signals)
    return found if found.state == "present" and found.evidence.endswith(BEGUN) else None


def _hardly_left(curve: Curve, distance: float, share: float, left: float) -> Observation:
    return Observation(
        ID,
        "present",
        f"The weights ended {percent(distance)} of their own size away from where they began, {percent(min(share, 1))} "
        f"of their path's length, with {percent(left)} of the loss left: {BEGUN}",
        (float(curve.x[0]), float(curve.x[-1])),
        None,
        max(STARTED, clarity(share, STRAIGHT, STRONG_STRAIGHT)),
    )


def _straightness(way: Series, steps: Floats | None) -> float | None:
    """The distance by the length of the way, in units that the first steps give."""
    opening = int(way.steps[OPENING - 1])
    if steps is None or not np.isfinite(way.values).all() or opening > way.steps[-1] / 2:
        return None
    first = float(steps[: opening + 1].sum())
    if first <= 0 or way.values[OPENING - 1] <= 0:
        return None
    return float(way.values[-1] / (way.values[OPENING - 1] * steps.sum() / first))


def _steps(signals: Signals, rate: Series, count: int) -> Floats | None:
    """How long each update is, but for a factor: as long as its rate where steps are normalised, else as rate and
    gradient make it."""
    config = signals.run.config
    if count > MAX_UPDATES or not len(rate) or not np.all(rate.values >= 0):
        return None
    every = np.arange(count)
    rates: Floats = np.interp(every, rate.steps, rate.values)
    if config.get("optimizer") in NORMALISED:
        return rates
    norm = signals.grad_norm
    if config.get("optimizer") != "SGD" or norm is None:
        return None
    known = np.isfinite(norm.values)
    if known.sum() < MIN_LOOKS or norm.steps[known][-1] < count / 2:
        return None
    forces: Floats = rates * np.interp(every, norm.steps[known], norm.values[known])
    momentum = config.get("momentum")
    return _carried(forces, momentum) if isinstance(momentum, float) and 0 < momentum < 1 else forces


def _carried(forces: Floats, momentum: float) -> Floats:
    """With momentum, if all of them went the same way: longer than they are, so that a way looks less straight than it
    was."""
    carried = np.empty_like(forces)
    speed = 0.0
    for index, force in enumerate(forces):
        speed = momentum * speed + force
        carried[index] = speed
    return carried


ENDED = (Event("finished", "The script came to its own end."),)
SETTINGS = {"optimizer": "Adam"}
FRESH = (InitialWeights(kurtosis=(1.8, 1.81), elements=(1024, 1024)),)
TUNED = (InitialWeights(kurtosis=(3.1, 4.2), elements=(1024, 1024)),)


def _case(steps: int, distance: float, loss: float, peak: float = 1e-3, gone: bool = False) -> dict[str, Values]:
    rates = peak * np.exp(-np.arange(steps) / 30) if gone else np.full(steps, peak)
    looks = ([0, 1, 2, 3, steps], [0.001, 0.002, 0.003, 0.004, distance])
    return {"weight_travel": looks, "lr": rates, "train_loss": falling(steps, 1.0, loss)}


SYMPTOM = Symptom(
    id=ID,
    title="updates still pointed the same way at the end",
    severity="problem",
    family=ID,
    background=0.02,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
When the training ended, its steps still pointed the way of the first ones: the descent had hardly begun to bend, and a
good part of the loss is left.

## How it is measured
For optimisers that normalise their steps (Adam and its kin) the length of the whole way is the sum of the rates times
what the first four updates made of theirs; for SGD the sum of the rates times the gradients that were looked at. A
recording knows how far the weights are from where they began at the end. Present when that distance is 60 % of the way
or more and a fifth of the first loss is left (30 % for SGD), the weights moved by less than 70 % of their own size, at
least half of the matrices began with uniform numbers (as torch initialises its layers) and the script came to its own
end after thirty updates or more. Plain from 90 % on.

## Healthy range
After some hundred updates a tenth to a third: the noise of batches turns the steps about, and a loss that is nearly
fitted has no direction left. With a rate that drops tenfold late in the run up to 70 %, with little loss left.

## What it usually means
A rate that is too low, a rate that was taken away too early, or too few updates. Each of them ends a descent that was
under way.
""",
    detect=detect,
    cases=(
        Case("a low rate", "present", lambda: _case(450, 0.35, 0.5), SETTINGS, ENDED, measured=FRESH),
        Case(
            "a rate that is soon gone",
            "present",
            lambda: _case(450, 0.028, 0.7, gone=True),
            SETTINGS,
            ENDED,
            measured=FRESH,
        ),
        Case("hardly left", "present", lambda: _case(200, 0.09, 0.9), SETTINGS, ENDED, measured=FRESH),
        Case(
            "no weights loaded, none uniform",
            "present",
            lambda: _case(450, 0.35, 0.5),
            SETTINGS,
            ENDED,
            measured=(*TUNED, LoadedWeights(loaded=False, libraries=("torch",))),
        ),
        Case(
            "weights loaded, none uniform",
            "unknown",
            lambda: _case(450, 0.35, 0.5),
            SETTINGS,
            ENDED,
            measured=(*TUNED, LoadedWeights(loaded=True, libraries=("torch",))),
        ),
        Case("steps that turn about", "absent", lambda: _case(450, 0.06, 0.5), SETTINGS, ENDED, measured=FRESH),
        Case("nearly fitted", "absent", lambda: _case(450, 0.35, 0.05), SETTINGS, ENDED, measured=FRESH),
        Case("runs away", "absent", lambda: _case(4500, 4.0, 0.5), SETTINGS, ENDED, measured=FRESH),
        Case("stopped from outside", "unknown", lambda: _case(450, 0.35, 0.5), SETTINGS, measured=FRESH),
        Case("fine-tuning", "unknown", lambda: _case(450, 0.35, 0.5), SETTINGS, ENDED, measured=TUNED),
        Case(
            "plain SGD, gradients not seen",
            "unknown",
            lambda: _case(450, 0.4, 0.5),
            {**SETTINGS, "optimizer": "SGD"},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "plain SGD with gradients that stay",
            "present",
            lambda: {**_case(450, 0.4, 0.5), "grad_norm": np.ones(450)},
            {**SETTINGS, "optimizer": "SGD"},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "plain SGD with gradients that grew",
            "absent",
            lambda: {**_case(450, 0.4, 0.5), "grad_norm": np.linspace(1, 10, 450)},
            {**SETTINGS, "optimizer": "SGD"},
            ENDED,
            measured=FRESH,
        ),
        Case("a log alone", "unknown", lambda: {"train_loss": falling(100, 2.3, 0.5)}),
    ),
)
