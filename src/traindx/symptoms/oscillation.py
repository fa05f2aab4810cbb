"""oscillation: swings without net progress."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.stats import swings
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, ramp, swinging, then

ID = "oscillation"
MIN_POINTS = 16
SKIP = 0.1  # the beginning belongs to the descent
LEG = 0.45  # a swing is at least this share of the range the curve moves in
SWINGS = 4
GAINED = 0.5  # how clear swings of a return can be that has risen all the same
KEPT = 0.5  # of what a return gained, in its worst stretches: these are no swings without progress
OF_LEVEL = 0.2  # the range, as a share of the level: smaller waves do not matter


def detect(signals: Signals) -> Observation:
    curve = signals.main
    if curve is None or len(curve) < MIN_POINTS:
        return Observation(ID, "unknown", "Too few values of an objective to see swings.")
    if curve.uncounted:
        return Observation(
            ID, "unknown", f"{curve.name} is logged without steps: these may be results of several folds or models."
        )
    skip = int(len(curve.bins.median) * SKIP)
    y, x = curve.bins.median[skip:], curve.bins.x[skip:]
    span = float(np.quantile(y, 0.95) - np.quantile(y, 0.05))
    leg = max(LEG * span, 6 * curve.bin_noise)
    turns = swings(y, leg)
    level = max(float(np.median(np.abs(y))), 1e-300)
    net = net_gain(y)
    matters = span > OF_LEVEL * level and span > 0.15 * max(curve.progress, 0.0)
    if len(turns) >= SWINGS and net < 0.5 * span and matters and signals.kind == "gan":
        return Observation(ID, "unknown", "Adversarial losses swing by design; not judged.")
    if len(turns) >= SWINGS and net < 0.5 * span and matters:
        low, high = sorted((curve.logged(float(np.quantile(y, 0.05))), curve.logged(float(np.quantile(y, 0.95)))))
        rising = (
            _score_kept_rising(signals.score) if signals.kind == "supervised" else _keeps_its_gain(signals, curve, y)
        )
        if rising:
            return Observation(
                ID,
                "absent",
                f"{curve.name} swings between {num(low)} and {num(high)}, but {rising}.",
            )
        return Observation(
            ID, "present",
            f"{curve.name} swung {len(turns)} times between {num(low)} and {num(high)} after {curve.at(float(x[0]))}, "
            f"with {f'a net improvement of {num(net)}' if net > 0 else 'no net improvement'}.",
            (float(x[0]), float(x[-1])), curve.name,
            min(clarity(len(turns), SWINGS, 8), GAINED if _above_the_start(signals, y, curve) else 1.0),
        )  # fmt: skip
    return Observation(
        ID,
        "absent",
        f"{curve.name} changed its direction {len(turns)} times by more than its noise; {SWINGS} count as swings.",
    )


def _keeps_its_gain(signals: Signals, curve: Curve, y: Floats) -> str:
    """Returns of single episodes swing widely; where the worst stretch keeps half of what was gained, learning goes
    on."""
    gained, kept = curve.initial - curve.best, curve.initial - float(np.quantile(y, 0.95))
    if signals.kind != "rl" or gained <= 0 or kept < KEPT * gained:
        return ""
    return f"its worst stretches keep {percent(kept / gained)} of what it gained"


def _above_the_start(signals: Signals, y: Floats, curve: Curve) -> bool:
    """A return whose lowest stretches still lie above where it began: it swings, and it has learnt."""
    return signals.kind == "rl" and float(np.quantile(y, 0.95)) < curve.initial and net_gain(y) > 0


def net_gain(y: Floats) -> float:
    """How much lower the second half lies than the first."""
    half = len(y) // 2
    return float(np.median(y[:half]) - np.median(y[half:]))


def _score_kept_rising(score: Curve | None) -> str:
    """A score that improved through the same stretch and ends at its best shows net progress under a swinging loss."""
    if score is None or len(score) < MIN_POINTS:
        return ""
    y = score.y[int(len(score) * SKIP) :]
    third = len(y) // 3
    early, late = float(np.median(y[:third])), float(np.median(y[-third:]))
    if early - late < 2 * score.level_noise or score.clock_share(score.best_at) < 0.8:
        return ""
    return f"{score.name} went on from {num(score.logged(early))} to {num(score.logged(late))}"


SYMPTOM = Symptom(
    id=ID,
    title="swings without net progress",
    severity="problem",
    family="instability",
    background=0.03,
    needs=("loss",),
    doc="""
## What is observed
The smoothed curve goes up and down in large legs and gets nowhere.

## How it is measured
On the binned curve after its first tenth, a zigzag counts the turns whose legs are at least 45 % of the range the curve
moves in and six times a level's uncertainty. Present with four turns or more, when the second half is not better than
the first by half of that range and the range is at least 20 % of the level. A validation score that rose through the
same stretch and ends at its best speaks against it; so does a return whose
worst stretches keep half of what it gained. Counting sign changes of raw batch losses, as simpler tools do,
calls ordinary mini-batch noise an oscillation: it changes sign about two times in three. Beside adversarial losses only
the reconstruction is looked at: its calm rules this out, swings of it says nothing.

## Healthy range
Batch noise of any size; waves of a cyclic learning rate that step down from cycle to cycle; adversarial losses.

## What it usually means
A step close to the stability limit, momentum too high, data that come in a fixed order, or in reinforcement learning a
policy that forgets and relearns.
""",
    detect=detect,
    cases=(
        Case("the reconstruction of an adversarial training falls calmly", "absent",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": falling(200, 2.4, 0.8)}),
        Case("wave without progress", "present", lambda: {"train_loss": swinging(400, 0.5, 2.0, 6)}),
        Case("returns up and down", "present", lambda: {"ep_rew_mean": swinging(100, 20, 1500, 4)}),
        Case("returns that swing high above where they began", "absent",
             lambda: {"ep_rew_mean": then(ramp(20, -400.0, 500.0, 0.05), swinging(180, 400.0, 700.0, 6)),
                      "ep_len_mean": flat(200, 100.0, 0.1)}),
        Case("the score goes on", "absent",
             lambda: {"train_loss": swinging(60, 0.5, 2.0, 6), "val_accuracy": 1 - falling(60, 0.5, 0.1)}),
        Case("noise only", "absent", lambda: {"train_loss": then(falling(100, 2.4, 1.0), flat(400, 1.0, 0.3))}),
        Case("ordinary descent", "absent", lambda: {"train_loss": falling(400, 2.4, 0.4)}),
        Case("ten values", "unknown", lambda: {"train_loss": list(range(10))}),
    ),
)  # fmt: skip
