"""balance-loss-grows: the loss that spreads tokens over experts grows, so that fewer experts do the work."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import TREND, early, enough, late, named, span, trend
from traindx.symptoms.recipes import falling, flat, ramp, then
from traindx.thresholds import Threshold

ID = "balance-loss-grows"
GREW = Threshold(1.5, "times its early level", "Fedus et al. 2022 (Switch Transformer): the loss is least where tokens "
                 "are spread evenly and as many times that as experts where one gets all", strong=3.0)  # fmt: skip


def detect(signals: Signals) -> Observation:
    series = named(signals, "balance")
    if series is None or not enough(series):
        return Observation(ID, "unknown", "No balancing loss of experts is logged in 20 rows.")
    first, now = early(series), late(series)
    text = f"{series.name} was {num(first)} early on and is {num(now)} now"
    if first <= 0 or not GREW.reached(now / first) or not TREND.reached(trend(Curve(series))):
        return Observation(ID, "absent", f"{text}.")
    return Observation(ID, "present", f"{text}, {now / first:.1f} times as much: tokens go to fewer experts.",
                       span(series), series.name, GREW.clarity(now / first))  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="balancing loss of the experts grows",
    severity="problem",
    family="experts",
    background=0.01,
    needs=("balancing loss of a mixture of experts",),
    doc="""
## What is observed
The auxiliary loss that keeps the experts of a mixture evenly used grows during the training.

## How it is measured
The median of the last quarter over that of the first, on at least 20 rows: present from 1.5 with a rising trend
(Mann-Kendall from 3 standard deviations), plain from 3.

## Healthy range
It falls in the first steps and stays near its least, which is 1 (times its coefficient) for even use.

## What it usually means
The router collapses onto a few experts: coefficient too small or not added to the loss, computed over too small a
group, a learning rate that is too high for the router, half precision in its softmax.
""",
    detect=detect,
    cases=(
        Case("four times as much", "present",
             lambda: {"lm loss": falling(200, 9, 3), "load_balancing_loss": then(flat(100, 1.0), ramp(100, 1, 4))}),
        Case("even use", "absent",
             lambda: {"lm loss": falling(200, 9, 3), "load_balancing_loss": falling(200, 1.4, 1.02, 0.01)}),
        Case("no experts", "unknown", lambda: {"lm loss": falling(200, 9, 3)}),
    ),
)  # fmt: skip
