"""ends-off-best: a loss or a score ends far from the best it had."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, choose
from traindx.signals.curve import Curve
from traindx.signals.few import score_thrown_off
from traindx.symptoms.base import Case, Symptom, clarity, num, percent, times
from traindx.symptoms.recipes import falling, flat, put, ramp, then

ID = "ends-off-best"
MIN_POINTS = 8
# How far off, as a share of the best, and how much of the way from the first value to the best is lost again (for
# losses on a logarithmic scale: a first loss of 300 makes 14 look like nothing). None of the 28 open logs labelled
# healthy (benchmarks/logs) and 1 of 300 simulated healthy curves (benchmarks/curves) is as far off.
LOSS_OFF, LOSS_PLAIN = 0.25, 1.0
SCORE_OFF, SCORE_PLAIN = 0.15, 0.4
LOST, LOST_PLAIN = 0.15, 0.5
LEVELS = 3.0  # times the uncertainty of a level
SUDDEN = 8.0  # times the noise between neighbours, for a last value that stands alone
SUDDEN_CLEAR = 0.3
STEPPED_CLEAR = 0.75  # for a step from one value to the next that is never made good again
STAYS = 5  # values since
FEW_CLEAR = 0.4  # for the last row of a handful
TIMES, TIMES_CLEAR = 10.0, 0.7  # its best: nobody would keep those weights
NAMED = 4  # curves in a sentence


def detect(signals: Signals) -> Observation:
    if signals.kind != "supervised":
        return Observation(ID, "unknown", "Returns and adversarial losses swing; divergence judges them.")
    curves = [c for c in (signals.val, signals.train) if c is not None]
    curves += [Curve(series, -1.0) for series in choose.held_out_scores(signals.run)]
    curves = [c for c in curves if len(c) >= MIN_POINTS and not c.uncounted]
    thrown = score_thrown_off(signals) if not curves else None
    if thrown is not None:
        steps, certain = (thrown.step, float(thrown.curve.x[-1])), thrown.rows > 1
        text = thrown.sentence
        return Observation(
            ID, "present", text, steps, thrown.curve.name, 1.0 if certain else FEW_CLEAR, conclusive=certain
        )  # fmt: skip
    if not curves:
        return Observation(ID, "unknown", f"No loss or score with {MIN_POINTS} values.")
    found = [one for one in (_off(signals, curve) for curve in curves) if one is not None]
    if found:
        return max(found, key=lambda one: one.clarity)
    names = ", ".join(c.name for c in curves[:NAMED]) + (" …" if len(curves) > NAMED else "")
    return Observation(ID, "absent", f"{names} {'ends' if len(curves) == 1 else 'end'} near the best.")


def _off(signals: Signals, curve: Curve) -> Observation | None:
    if curve is signals.train and signals.better_after(curve.clock_share(curve.best_at)) is not None:
        return None  # validation went on to its best: another loss is logged since, or the data got harder
    clear = _how_far(curve, curve.now) if curve.rise > LEVELS * curve.level_noise else None
    last, now = float(curve.y[-1]), curve.now
    if clear is None and last - float(curve.y[-2]) > SUDDEN * curve.noise and _how_far(curve, last) is not None:
        clear, now = SUDDEN_CLEAR, last
    if clear is None:
        return None
    if _stepped(curve):
        clear = max(clear, STEPPED_CLEAR)
    if curve.sign > 0 and curve.best > 0 and now > TIMES * curve.best:
        clear = max(clear, TIMES_CLEAR)
    best, best_at, end = curve.best, curve.best_at, now
    if curve.level_name == curve.name:  # the levels are what the log shows: said as the log has them
        lowest = int(np.argmin(curve.y))
        best, best_at, end = float(curve.y[lowest]), float(curve.x[lowest]), last
    off = (end - best) / max(abs(best), 1e-300)
    return Observation(
        ID, "present",
        f"{curve.level_name} was {num(curve.logged(best))} at best ({curve.at(best_at)}) and ends at "
        f"{num(curve.logged(end))}, {_far(off)}.", (best_at, float(curve.x[-1])), curve.name, clear,
    )  # fmt: skip


def _stepped(curve: Curve) -> bool:
    """One step between neighbours took it there, and no value since was as good as before."""
    jumps = np.diff(curve.y)
    at = int(np.argmax(jumps)) + 1
    since = curve.y[at:]
    if jumps[at - 1] <= SUDDEN * curve.noise or len(since) < STAYS:
        return False
    return _how_far(curve, float(since.min())) is not None


def _far(off: float) -> str:
    return f"{percent(off)} off" if off < 1 else f"{times(1 + off)} times the best"


def _how_far(curve: Curve, now: float) -> float | None:
    """How plainly this value is far from the best, 0.3 to 1; None where it is not."""
    off = (now - curve.best) / max(abs(curve.best), 1e-300)
    if curve.sign > 0 and curve.best > 0:
        least, plain = LOSS_OFF, LOSS_PLAIN
        way = math.log(max(curve.initial, now) / curve.best)
        lost = math.log(now / curve.best) / way if way > 0 and now > 0 else 0.0
    else:
        least, plain = SCORE_OFF, SCORE_PLAIN
        way = max(curve.initial, now) - curve.best
        lost = (now - curve.best) / way if way > 0 else 0.0
    if off < least or lost < LOST:
        return None
    return min(clarity(off, least, plain), clarity(lost, LOST, LOST_PLAIN))


SYMPTOM = Symptom(
    id=ID,
    title="ends far from its best",
    severity="problem",
    family="instability",
    background=0.12,
    needs=("loss or score",),
    doc="""
## What is observed
The training loss, the validation loss or a score of held-out data ends much worse than it once was, whatever the
others do.

## How it is measured
The level over the last tenth of the run against the best level held over a tenth. Present when a loss is 25 % above
its best, or a score 15 % below it, and more than 15 % of the way from the first value to the best is lost again; on a
logarithmic scale for losses. The difference must be three times the uncertainty of a level. A last value that alone
is so far off counts a little where it jumped by eight times the noise between neighbours. Plain from a loss that
doubled or a score that lost 40 %, with half of the way lost. A training loss is excused where validation went on to
its best. In a handful of rows a score that was good must have lost three quarters; in two of them it is plain.

## Healthy range
A few per cent off the best are noise; a validation loss 10 % above its best is the usual end of a small fine-tuning.

## What it usually means
Look at what else the page says: divergence, memorised training data, or a change of the data or of the evaluation at
the step where it began. By itself it says only that the last weights are not the best ones: the checkpoint to keep is
the one of the best step.
""",
    detect=detect,
    cases=(
        Case("a loss far above its best", "present",
             lambda: {"train_loss": then(falling(10, 300, 1.5, 0), flat(10, 1.5), flat(12, 14.4))}),
        Case("validation 45 % above its best, training at rest", "present",
             lambda: {"train_loss": then(falling(20, 2.2, 0.8), flat(20, 0.8)),
                      "val_loss": then(falling(20, 2.2, 0.8), ramp(20, 0.8, 1.16))}),
        Case("a score falls at once", "present",
             lambda: {"train_loss": falling(30, 2.2, 0.4),
                      "val_acc": then(80 - falling(24, 45, 2, 0.01), flat(6, 54.0))}),
        Case("the last evaluation alone", "present",
             lambda: {"train_loss": falling(30, 2.2, 0.4), "val_acc": put(80 - falling(30, 45, 2, 0.01), 29, 50.0)}),
        Case("a step down that is never made good", "present",
             lambda: {"train_loss": falling(100, 6.9, 4.3, 0.01),
                      "val_acc": then(77 - falling(66, 70, 0.5, 0.01), ramp(34, 55.0, 64.0, 0.002))}),
        Case("noise about its best", "absent", lambda: {"train_loss": falling(200, 2.2, 0.4, 0.3)}),
        Case("a tiny loss, a little less tiny", "absent",
             lambda: {"train_loss": then(falling(60, 2.2, 0.001, 0.05), flat(20, 0.0012, 0.05))}),
        Case("ordinary descent", "absent",
             lambda: {"train_loss": falling(60, 2.2, 0.4), "val_loss": falling(60, 2.2, 0.5)}),
        Case("a return", "unknown", lambda: {"ep_rew_mean": then(ramp(50, 2, 8), ramp(50, 8, 2))}),
        Case("a good score is gone in two of five evaluations", "present",
             lambda: {"train_loss": [2.0, 1.0, 0.8, 0.7, 0.7], "val_acc": [71.0, 83.0, 85.0, 10.0, 10.0]}),
        Case("five values", "unknown", lambda: {"train_loss": [2.0, 1.0, 0.5, 1.0, 2.0]}),
    ),
)  # fmt: skip
