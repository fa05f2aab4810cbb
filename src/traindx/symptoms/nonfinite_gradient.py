"""nonfinite-gradient: gradients are NaN or Inf."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import GradientReach, Measured, NumbersSeen
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.inside import Nonfinite, nonfinite, scaler_in_use
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.nan_origin import case, examined, headline, origin_of
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, put, then
from traindx.symptoms.reported import counted, counters, said

ID = "nonfinite-gradient"
LATE_SHARE = 0.05  # of the steps after start-up; a scaler that finds its scale skips far fewer
PLAIN_SHARE = 0.3
ENDING = 3  # rows at the end,
DOUBTFUL = 0.4  # and how clear fewer are where the loss went on
SUMMARY = " (summary)"  # how a second series of one name is called
NO_SCALE = 1e-6  # of the loss: even a sum over a million tokens would fit
NAN, INF = float("nan"), float("inf")
_MESSAGE = re.compile(
    r"Function '(\w+Backward\d*)' returned nan"  # torch anomaly mode
    r"|norm of order .{0,40}non-finite"  # torch clip_grad_norm_ with error_if_nonfinite
    r"|gradients? (?:is|are|contains?|has) (?:nan|inf|non-?finite)"  # fairseq and hand-written guards
    r"|nan detected in .{0,80}backward",
    re.IGNORECASE,
)


def judge(measured: Measured) -> Observation | None:
    """Gradients of a finite loss that are not finite, where a reason was found."""
    first = examined(measured)
    origin = origin_of(first) if first is not None and first.what == "gradients" else None
    if first is None or origin is None:
        return None
    return seen(ID, True, f"{headline(first)}: {origin.evidence}.", at=first, where=origin.line)


def of_probe(measured: Measured) -> Observation | None:
    look = next((one for one in measured.all(NumbersSeen) if one.what == "gradients"), None)
    if look is None:
        return None
    if not look.nonfinite:
        return seen(ID, False, f"All gradients of {look.batches} batches are finite.", at=look)
    return seen(ID, True, f"{look.nonfinite} of the gradient's values of {look.where} are not finite.", at=look)


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE) or counted(ID, signals.run, "gradient", LATE_SHARE)
    if reported is not None:
        return reported
    unscalable = _at_any_scale(signals)
    if unscalable is not None:
        return unscalable
    series = [one for one in signals.run.of("grad_norm") if len(one) and not _averages(one, signals)]
    if not series and not counters(signals.run, "gradient"):
        return Observation(ID, "unknown", "No gradient norm was logged.")
    found = [bad for bad in map(nonfinite, series) if bad is not None]
    if not found:
        return Observation(ID, "absent", f"All {sum(map(len, series))} logged gradient norms are finite.")
    return _judge(signals, min(found, key=lambda bad: (not bad.lasting, -bad.late_share, bad.first)))


def _averages(series: Series, signals: Signals) -> bool:
    """A mean over an epoch, beside its rows: one step that a scaler skipped makes all of it NaN."""
    rows = signals.run.series.get(series.name.removesuffix(SUMMARY))
    return series.name.endswith(SUMMARY) and rows is not None and len(rows) > 0


def _at_any_scale(signals: Signals) -> Observation | None:
    """A loss so much scaled down still overflows: it is not its size that does."""
    for scale in signals.run.of("loss_scale"):
        values = scale.values[np.isfinite(scale.values) & (scale.values > 0)]
        if len(values) > 1 and values[-1] < min(NO_SCALE, values[0]):
            text = f"{scale.name} was brought down to {num(float(values[-1]))} by overflow after overflow; gradients "
            text += "that do not fit at any scale are NaN or Inf themselves."
            return Observation(ID, "present", text, (float(scale.steps[0]), float(scale.steps[-1])), scale.name, 1.0)
    return None


def _judge(signals: Signals, worst: Nonfinite) -> Observation:
    scaler = scaler_in_use(signals)
    went_on = _loss_went_on(signals, worst)
    ended = worst.lasting and (worst.ending >= ENDING or not (scaler or went_on))
    few = worst.count < ENDING and went_on
    place = worst.series.meaning.where or worst.series.name
    doubtful = few and worst.ending > 0
    if ended or doubtful or (worst.late_share > LATE_SHARE and not few):
        clear = 1.0 if ended else DOUBTFUL if doubtful else clarity(worst.late_share, LATE_SHARE, PLAIN_SHARE)
        return Observation(ID, "present", f"{worst.sentence}.", (worst.first, worst.last), place, clear)
    why = (
        "the loss scaler skips such steps"
        if scaler
        else "the step must have been skipped, or the weights would be lost"
    )
    return Observation(
        ID,
        "absent",
        f"{worst.sentence} ({percent(worst.late_share)} of the steps after start-up): {why}.",
        where=place,
        noted=True,
    )


def _loss_went_on(signals: Signals, worst: Nonfinite) -> bool:
    """A loss that is finite in a later row than the first bad norm: that step was skipped."""
    train = signals.train
    if train is None or train.series.axis != worst.series.axis:
        return False
    after = train.series.values[train.series.steps > worst.first]
    return len(after) > 0 and bool(np.isfinite(after).all())


def _numbers(nonfinite: int, where: str) -> NumbersSeen:
    return NumbersSeen(what="gradients", nonfinite=nonfinite, batches=3, where=where)


SYMPTOM = Symptom(
    id=ID,
    title="gradient is NaN or Inf",
    severity="problem",
    family="nonfinite",
    background=0.01,
    needs=("gradient norm",),
    doc="""
## What is observed
The gradient norm, of the whole model or of one layer, is not a number. One such step that is not skipped turns every
weight it reaches into NaN.

## How it is measured
Every gradient norm series, counters of non-finite gradients, and what torch's anomaly mode, `clip_grad_norm_` or
fairseq say in words. Present when the norm ends non-finite (three rows, or for good) or when more than 5 % of the
steps after start-up are; plain from 30 %. One or two rows
after which the loss is finite were skipped; at the end of the log they are a doubt. A loss scale
that overflows brought below 1e-6 is plain as well. The layer that is hit first is named where norms are logged by
layer. A lone NaN in the first row is a logger that has not measured yet.

A recording looks at the gradients of two parameters far from the loss. Present where they are not finite, the loss
is, and no scaler is at work; which parameters the bad gradients have reached then names the operation.

## Healthy range
Inf at the first steps of fp16 training is calibration: the loss scaler begins at 2^16 (torch) or 2^32 (Megatron,
DeepSpeed), halves the scale at each overflow and skips the step, up to 18 times in a row; later it tries a doubled
scale every 2 000 steps and may skip one. Such rows are finite again at once and the loss never notices. The usual
checklist rule, any NaN in a gradient is an issue, would call every fp16 run ill.

## What it usually means
Overflow in half precision, log of zero or division by zero in the loss, a root or norm taken at zero, bad samples, or
gradients that exploded before. Where the loss is finite and the gradient is not, look at the backward of sqrt, norm,
log and where: they produce NaN at points the forward pass survives.
""",
    detect=from_measurements(ID, judge, otherwise=detect, of_probe=of_probe),
    cases=(
        Case("a probe finds NaN", "present", probed=(_numbers(3, "fc1.weight"),)),
        Case("a probe finds finite ones", "absent", probed=(_numbers(0, ""),)),
        Case("NaN for good", "present", lambda: {"grad_norm": put(flat(100, 1.0, 0.2), 70, *[NAN] * 30)}),
        Case("one layer goes first", "present",
             lambda: {"grad_norm/fc1": put(flat(60, 1.0), 40, *[NAN] * 20), "grad_norm/fc2": flat(60, 1.0)}),
        Case("every tenth step overflows", "present",
             lambda: {"grad_norm": [INF if i % 10 == 9 else 1.0 for i in range(300)]}),
        Case("loss scaler finds its scale", "absent",
             lambda: {"grad_norm": then(flat(15, INF, 0), flat(300, 1.0, 0.3)),
                      "loss_scale": then(2.0 ** -falling(15, -31, -16, 0), flat(300, 65536, 0))}),
        Case("overflows at any scale", "present", lambda: {"loss scale": 2.0 ** -np.arange(8.0, 40.0)}),
        Case("one Inf that the step guard skipped", "absent",
             lambda: {"grad_norm": put(flat(300, 1.0, 0.3), 200, INF), "loss": falling(300, 2.3, 0.5)}),
        Case("two bad rows at the end, and the loss went on", "present",
             lambda: {"grad_norm": [3.1, 2.8, 2.7, 2.5, NAN, NAN], "loss": [2.8, 2.6, 2.7, 2.6, 2.5, 2.4]}),
        Case("two bad rows, and the loss went on", "absent",
             lambda: {"grad_norm": [3.1, 2.8, NAN, NAN, 2.7, 2.5], "loss": [2.8, 2.6, 2.7, 2.6, 2.5, 2.4]}),
        Case("a mean over each epoch that one skipped step made NaN", "absent",
             lambda: {"grad_norm": flat(60, 0.4, 0.1), "grad_norm (summary)": [NAN] * 4,
                      "loss": falling(60, 9.0, 4.0)}),
        Case("ordinary norms", "absent", lambda: {"grad_norm": flat(100, 2.0, 0.5)}),
        case(
            "a custom backward divides by zero", "present", what="gradients",
            reach=GradientReach(("enc",), 1, ("head",), 1, suspects=("",), function="Broken", line="train.py:9"),
        ),
        case("no reason was found", "unknown", what="gradients"),
        case("the loss itself is not finite", "unknown"),
        Case("no norm logged", "unknown", lambda: {"loss": falling(100, 2.3, 0.5)}),
    ),
)  # fmt: skip
