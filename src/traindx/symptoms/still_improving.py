"""still-improving: the run stopped while it was getting better."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.progress import LATE, SLIGHT_TREND, TAIL, Progress
from traindx.symptoms.base import Case, Symptom, clarity, percent
from traindx.symptoms.recipes import falling, flat, ramp, then

ID = "still-improving"
FEWEST = 8  # values; of fewer evaluations the training loss tells,
FEWEST_WITH_TREND = 6  # and of fewer values of it only a trend through all of them
EVEN = 0.25  # of the progress: an even descent makes as much in its last quarter


def detect(signals: Signals) -> Observation:
    val = signals.val
    if val is not None and 2 <= len(val) < FEWEST and val.y[-1] > val.y.min():
        return Observation(ID, "unknown", f"{val.name} has {len(val)} values, and the last is not the best.")
    curve = signals.main if val is None or len(val) < FEWEST or signals.settings.metric else val
    few = curve is not None and FEWEST_WITH_TREND <= len(curve) < FEWEST and SLIGHT_TREND.reached(Progress(curve).trend)
    if curve is None or (len(curve) < FEWEST and not few) or signals.kind == "gan":
        return Observation(ID, "unknown", "Too few values of an objective to see how it ended.")
    course = Progress(curve)
    share = course.late
    if course.unfinished:
        return Observation(
            ID, "present", f"{curve.name} was still getting better when the run ended: its last quarter made "
                           f"{percent(min(share, 1.0))} of all progress.",
            (float(curve.tail(TAIL)[0][0]), float(curve.x[-1])), curve.name, clarity(share, LATE.value, EVEN),
        )  # fmt: skip
    return Observation(
        ID,
        "absent",
        f"{curve.name} made {percent(max(share, 0.0))} of all its progress in the last quarter of the run.",
    )


SYMPTOM = Symptom(
    id=ID,
    title="stopped while improving",
    severity="note",
    family="end",
    background=0.35,
    needs=("loss",),
    doc="""
## What is observed
The curve ends on its way down.

## How it is measured
The fitted change over the last quarter of the run (of the validation loss where there are eight values of it, else of
the training loss if the last validation was the best) as a share of all progress: present above 6 % when the trend is
significant and the best level is at the end.

## Healthy range
Most useful runs end like this when compute is the limit; on its own it is a remark, not a fault.

## What it usually means
More steps would have helped. Together with a loss that is still high it means too few epochs or a learning rate that is
too low; a constant slope without any bend speaks for the learning rate.
""",
    detect=detect,
    cases=(
        Case("three evaluations, the last the best", "present",
             lambda: {"train_loss": ramp(150, 2.3, 1.6, 0.02), "val_loss": [2.1, 1.93, 1.7]}),
        Case("three evaluations, the last not the best", "unknown",
             lambda: {"train_loss": ramp(150, 2.3, 1.6, 0.02), "val_loss": [2.1, 1.9, 2.0]}),
        Case("straight down to the end", "present", lambda: {"train_loss": ramp(200, 2.4, 1.0, 0.02)}),
        Case("seven values, one after the other better", "present",
             lambda: {"loss": [2.2, 2.0, 1.9, 1.7, 1.6, 1.4, 1.3]}),
        Case("six values that scatter", "unknown", lambda: {"loss": [1.3, 2.0, 1.1, 1.9, 1.6, 1.2]}),
        Case("levelled off", "absent", lambda: {"train_loss": then(falling(100, 2.4, 0.5), flat(200, 0.5))}),
        Case("two values", "unknown", lambda: {"train_loss": [1.0, 0.5]}),
    ),
)  # fmt: skip
