"""throughput-drop: the run got slower for good."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats
from traindx.signals import Signals
from traindx.signals.speed import crowded, pace
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, put, ramp, then

ID = "throughput-drop"
LEFT = 0.6  # of the early pace
STRONG_LEFT = 0.3
LEFT_AT_ONCE = 0.75  # where a pace that hardly scatters falls from one piece to the next
EVEN_PIECES = 5
EVEN, SCATTER = (0.1, 0.9), 0.1  # quantiles of a stretch, and the share of its median that they are apart at most
BACK = 0.8  # of the early pace: a piece as fast as this ends the drop
LASTS = 0.15  # of the run


def detect(signals: Signals) -> Observation:
    run = pace(signals)
    if run is None:
        return Observation(
            ID, "unknown", "Neither throughput nor step times nor time stamps of enough rows were logged."
        )
    queued = crowded(signals)
    if queued is not None:
        return Observation(ID, "unknown", queued)
    count = len(run.y)
    early = float(np.median(run.y[max(1, count // 20) : max(3, count // 4)]))
    late = float(np.median(run.y[-max(2, count // 5) :]))
    share = late / early
    summary = f"{run.name} was {num(early)} early on and is {num(late)} now ({percent(share)})"
    if signals.kind == "rl":
        why = "episodes get longer and off-policy learning starts late, so that is no fault"
        return Observation(ID, "unknown", f"{summary}; in reinforcement learning {why}.")
    quick = np.flatnonzero(run.y > BACK * early)
    since = int(quick[-1]) + 1 if len(quick) else 0
    left = LEFT_AT_ONCE if _at_once(run.y, since) else LEFT
    if share >= left or (count - since) < LASTS * count:
        return Observation(ID, "absent", f"{summary}.")
    return Observation(
        ID, "present", f"{summary}, from step {num(float(run.x[since]))} on.", (float(run.x[since]), float(run.x[-1])),
        run.name,
        clarity(-share, -left, -STRONG_LEFT),
    )  # fmt: skip


def _at_once(pieces: Floats, since: int) -> bool:
    """One step down between two even stretches."""
    stretches = pieces[1:since], pieces[since + 1 :]
    return all(
        len(one) > EVEN_PIECES and np.ptp(np.quantile(one, EVEN)) < SCATTER * np.median(one) for one in stretches
    )


SYMPTOM = Symptom(
    id=ID,
    title="throughput dropped",
    severity="note",
    family="speed",
    background=0.04,
    needs=("throughput, step times or time stamps",),
    doc="""
## What is observed
From some step on the run does less a second than before, and it stays so.

## How it is measured
On the logged throughput of training, else on the inverse of the step time, else on steps a second by the time stamps
of the rows, in up to sixty pieces; where the batch size is logged and grows, samples count instead of steps. The
median of the last fifth is compared with that of the first quarter (its very beginning left out). Present when less
than 60 % is left (75 % where an even pace falls in one step to another even one) and no piece of at least the last 15 %
of the run comes back to 80 %; plain below 30 %. Reinforcement learning is never judged: episodes get longer as the
agent learns, and DQN-like methods begin to learn late, which takes the frame rate from hundreds to single digits in
good health.

## Healthy range
Within 10 % of the early pace. A slow beginning (compilation, caches) and evaluation pauses do not count. Longer
sequences or larger images by curriculum lower steps a second by plan.

## What it usually means
Another job on the same machine, a device that throttles, a disk cache that no longer holds the data set, memory that
begins to swap, a rank that fell behind, logging or checkpoints that grow. It is worth money rather than quality, so it
is a note.
""",
    detect=detect,
    cases=(
        Case("half the images a second", "present",
             lambda: {"images_per_second": then(flat(100, 480.0, 0.03), flat(100, 190.0, 0.03))}),
        Case("a third less from one row to the next", "present",
             lambda: {"tps": then(flat(120, 5000.0, 0.02), flat(120, 3300.0, 0.02))}),
        Case("from step times", "present", lambda: {"step_time": then(flat(100, 0.2, 0.05), flat(60, 0.7, 0.05))}),
        Case("larger batches by plan", "absent",
             lambda: {"elapsed time per iteration (ms)": ramp(200, 18e3, 60e3, 0.02),
                      "global batch size": ramp(200, 96.0, 320.0)}),
        Case("one pause", "absent", lambda: {"images_per_second": put(flat(200, 480.0, 0.03), 90, *[20.0] * 8)}),
        Case("a slow start", "absent", lambda: {"it/s": put(flat(200, 5.0, 0.03), 0, 0.2, 0.9, 2.0)}),
        Case("a little slower", "absent", lambda: {"tokens_per_sec": ramp(200, 5000.0, 4000.0, 0.03)}),
        Case("frames a second of an agent", "unknown",
             lambda: {"time/fps": falling(100, 273.0, 7.0), "rollout/ep_rew_mean": ramp(100, 1.6, 18.9)}),
        Case("nothing about time", "unknown", lambda: {"loss": falling(100, 2.3, 0.4)}),
    ),
)  # fmt: skip
