"""slow-step: single steps stall, or steps get slower and slower."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traindx.diagnosis import Observation
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.speed import START_UP, batch_ramp, crowded, step_seconds
from traindx.signals.stats import mann_kendall, rolling_median
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import flat, put, ramp, then

ID = "slow-step"
MIN_ROWS = 30
STALL = 5.0  # times the running median
STALL_SHARE = 0.01  # of the steps
FEWEST = 3
LEAST_SECONDS = 0.02  # a stall shorter than this is the operating system's, not the training's
LEAST_LOST = 0.05  # of the whole time
INTERVAL = 50  # steps: evaluations and checkpoints are at least this far apart, workers that refill are not
ALMOST = 0.9  # of the slow steps
GROWTH = 1.5  # from the first to the last part of the run
PLAIN_GROWTH = 3.0
TREND = 3.0  # z score


def detect(signals: Signals) -> Observation:
    step = step_seconds(signals)
    if step is None or len(step) < MIN_ROWS:
        return Observation(ID, "unknown", f"Fewer than {MIN_ROWS} step times were logged.")
    queued = crowded(signals)
    if queued is not None:
        return Observation(ID, "unknown", queued)
    if signals.kind == "rl":
        return Observation(ID, "unknown", "In reinforcement learning steps take as long as their episodes; not judged.")
    curve = Curve(step)
    growing = _growing(curve) if batch_ramp(signals) is None else None
    return growing or _stalls(signals, step, curve) or Observation(
        ID, "absent",
        f"{step.name} has a median of {num(float(np.median(step.values)))} s, and 99 % are below "
        f"{num(float(np.quantile(step.values, 0.99)))} s.",
    )  # fmt: skip


def _growing(curve: Curve) -> Observation | None:
    """Slower all the time: a trend through the whole run, not a single change, which is throughput-drop."""
    level = curve.bins.median[max(1, len(curve.bins.median) // 10) :]
    few = max(2, len(level) // 10)
    first, last = float(np.median(level[:few])), float(np.median(level[-few:]))
    halves = level[: len(level) // 2], level[len(level) // 2 :]
    steady = min(map(mann_kendall, halves)) > TREND / 2 and mann_kendall(level) > TREND
    if first <= 0 or last < GROWTH * first or not steady:
        return None
    return Observation(
        ID, "present", f"{curve.name} grew steadily from {num(first)} to {num(last)} s ({num(last / first)} times).",
        (float(curve.x[0]), float(curve.x[-1])), curve.name, clarity(last / first, GROWTH, PLAIN_GROWTH),
    )  # fmt: skip


def _stalls(signals: Signals, step: Series, curve: Curve) -> Observation | None:
    usual = np.interp(step.steps, curve.bins.x, rolling_median(curve.bins.median, 7))
    slow = np.flatnonzero(step.values > np.maximum(STALL * usual, usual + LEAST_SECONDS))
    slow = slow[slow >= START_UP]
    share = len(slow) / len(step)
    if len(slow) < FEWEST or share < STALL_SHARE:
        return None
    lost = float((step.values - usual)[slow].sum() / step.values.sum())
    if lost < LEAST_LOST:
        return None
    gaps = np.diff(slow)
    periodic = len(gaps) >= FEWEST and float(np.quantile(gaps, 0.9) - np.quantile(gaps, 0.1)) <= 0.2 * float(
        np.median(gaps)
    )
    planned = _planned(signals, step, slow)
    if planned:
        return Observation(ID, "absent", f"{planned}; that is {percent(lost)} of the time, and no stall.")
    rhythm = f", every {num(float(np.median(gaps)))} rows" if periodic else ""
    return Observation(
        ID, "present",
        f"{len(slow)} of {len(step)} steps ({percent(share)}) took more than {num(STALL)} times the usual "
        f"{num(float(np.median(usual)))} s{rhythm}; that is {percent(lost)} of the time.",
        (float(step.steps[slow[0]]), float(step.steps[slow[-1]])), step.name, clarity(lost, 0.04, 0.4),
    )  # fmt: skip


def _planned(signals: Signals, step: Series, slow: NDArray[np.intp]) -> str:
    """Slow steps at evaluations, or all at multiples of one round interval, do something else besides training."""
    at = step.steps[slow]
    if signals.val is not None and len(signals.val) >= FEWEST and float(np.mean(np.isin(at, signals.val.x))) > ALMOST:
        return f"The {len(slow)} slow steps are those with an evaluation"
    gap = float(np.median(np.diff(at)))
    if gap < INTERVAL or step.axis != "step" or float(np.mean(np.isclose(at % gap, 0.0))) < ALMOST:
        return ""
    return f"The {len(slow)} slow steps come every {num(gap)} steps, as evaluations and checkpoints do"


SYMPTOM = Symptom(
    id=ID,
    title="steps stall or slow down",
    severity="note",
    family="speed",
    background=0.05,
    needs=("step time",),
    doc="""
## What is observed
Some steps take many times as long as the rest, often in a rhythm, or every step takes a little longer than the last.

## How it is measured
On logged step times (times since the start are taken apart). Stalls: more than 1 % of the steps, three at least, take
more than five times their running median; the page says what share of the time that costs and whether it comes in a
rhythm. Slow steps that coincide with evaluations, or that all fall on multiples of one interval of at least 50 steps,
are taken for evaluations or checkpoints and left out. Growth: the level rises by half or more with a significant trend
in both halves of the run; a single change is reported as throughput-drop instead, and a batch size that grows excuses
it. The first rows are left out. Reinforcement learning is not judged, nor is a recorded process that stood in line for
a CPU for a tenth of the time or more.

## Healthy range
Most steps within 20 % of the median. A slow step at each evaluation or checkpoint is the price of those.

## What it usually means
Rhythm: checkpoints, evaluation, logging that waits for the device, loader workers that all refill at once, garbage
collection. Growth: outputs or losses kept with their graph (a missing .item() or detach()), lists that grow, sequences
or images that get larger by plan. It is worth money rather than quality, so it is a note.
""",
    detect=detect,
    cases=(
        Case("every twentieth step stalls", "present",
             lambda: {"step_time": [0.1 + 0.001 * (i % 7) + 0.9 * (i % 20 == 19) for i in range(400)]}),
        Case("evaluations every 250 steps", "absent",
             lambda: {"iter_time": (range(0, 20000, 10),
                                    [0.5 + 0.001 * (i % 7) + 30.0 * (i % 25 == 0) for i in range(2000)])}),
        Case("slower and slower", "present", lambda: {"iter_time": ramp(300, 0.2, 0.6, 0.05)}),
        Case("noise only", "absent", lambda: {"step_time": flat(300, 0.2, 0.2)}),
        Case("a slow start", "absent", lambda: {"step_time": put(flat(300, 0.2, 0.05), 0, 20.0, 6.0, 1.4)}),
        Case("one change of level", "absent", lambda: {"step_time": then(flat(150, 0.2, 0.05), flat(150, 0.5, 0.05))}),
        Case("time since the start", "absent", lambda: {"time": np.cumsum(flat(100, 21.0, 0.02))}),
        Case(
            "stalls on a crowded machine", "unknown",
            lambda: {"step_time": [0.1 + 0.9 * (i % 20 == 19) for i in range(400)]}, config={"cpu_queue": 0.4},
        ),
        Case("no step times", "unknown", lambda: {"loss": flat(100, 1.0)}),
    ),
)  # fmt: skip
