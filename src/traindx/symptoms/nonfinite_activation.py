"""nonfinite-activation: the output of a layer is NaN or Inf."""

from __future__ import annotations

import re

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NumbersSeen, Operation
from traindx.signals import Signals
from traindx.signals.inside import nonfinite
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.nan_origin import case, examined, headline, origin_of
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, put
from traindx.symptoms.reported import counted, counters, said

ID = "nonfinite-activation"
NAN, INF = float("nan"), float("inf")
_MESSAGE = re.compile(
    r"(?:nan|inf|nan/inf) (?:detected|found) in (?:the )?(?:output|activations?|forward)(?: of)?:?\s*[`']?([\w./-]*)",
    re.IGNORECASE,
)


def judge(measured: Measured) -> Observation | None:
    """What running the model again has shown, where nothing else explains a loss that is not finite."""
    first = examined(measured)
    origin = origin_of(first) if first is not None else None
    if first is None or origin is None or not origin.rerun:
        return None
    return seen(ID, True, f"{headline(first)}: {origin.evidence}.", at=first, where=origin.line)


def of_probe(measured: Measured) -> Observation | None:
    look = next((one for one in measured.all(NumbersSeen) if one.what == "activations"), None)
    if look is None:
        return None
    if not look.nonfinite:
        return seen(ID, False, f"All activations of {look.batches} batches are finite.", at=look)
    text = f"{look.where} is the first layer with values that are not finite ({look.nonfinite})."
    return seen(ID, True, text, at=look)


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE, unless="backward") or counted(ID, signals.run, "activation")
    if reported is not None:
        return reported
    series = [one for one in signals.run.of("activation") if len(one)]
    if not series and not counters(signals.run, "activation"):
        return Observation(ID, "unknown", "No statistics of activations were logged.")
    found = [bad for bad in map(nonfinite, series) if bad is not None]
    if not found:
        return Observation(ID, "absent", f"All {sum(map(len, series))} logged activation statistics are finite.")
    # in one forward pass NaN travels from the first broken layer to the output: the earliest step, then the log's order
    origin = min(found, key=lambda bad: bad.first)
    reached = f"; {len(found)} of {len(series)} series are hit" if len(series) > 1 else ""
    return Observation(
        ID, "present", f"{origin.sentence}{reached}.", (origin.first, max(bad.last for bad in found)),
        origin.series.meaning.where or origin.series.name, 1.0 if origin.lasting else 0.5,
    )  # fmt: skip


def _numbers(nonfinite: int, where: str) -> NumbersSeen:
    return NumbersSeen(what="activations", nonfinite=nonfinite, batches=3, where=where)


SYMPTOM = Symptom(
    id=ID,
    title="activation is NaN or Inf",
    severity="problem",
    family="nonfinite",
    background=0.005,
    needs=("activation statistics",),
    doc="""
## What is observed
The forward pass itself leaves the numbers: a layer's output is NaN or Inf before any gradient is taken.

## How it is measured
Logged means, spreads, norms and maxima of activations, hidden states and logits are searched for NaN and Inf, and so
are counters of them and the messages of NaN detectors. The series that is hit at the earliest step is named, the one
logged first among equals: in a forward pass NaN travels from the first broken layer to the loss, so the first place is
the cause and the rest is damage. A lone NaN in the first row is not counted.

A recording runs the model once more on a copy, where the first loss that is not finite is explained by neither data,
weights, growth nor the graph of the loss, and names the first operation that leaves the finite numbers. In a
checkpoint, running statistics of BatchNorm that are not finite show that an activation was not.

## Healthy range
None. fp16 overflows at 65 504; a growing maximum of attention logits or hidden states on its way there is the warning.

## What it usually means
fp16 overflow in attention scores or in a residual stream that grows with depth, NaN in the input batch (then the very
first layer is hit), a division or logarithm inside the model, or weights that are NaN already.
""",
    detect=from_measurements(ID, judge, otherwise=detect, of_probe=of_probe),
    cases=(
        Case("a probe finds NaN", "present", probed=(_numbers(3, "fc1"),)),
        Case("a probe finds finite ones", "absent", probed=(_numbers(0, ""),)),
        Case("one layer overflows and the next follow", "present",
             lambda: {"activations/block3_max": put(flat(50, 800.0), 30, *[INF] * 20),
                      "activations/block4_max": put(flat(50, 900.0), 30, *[NAN] * 20),
                      "activations/block1_max": flat(50, 30.0)}),
        Case("a counter says so", "present", lambda: {"activations/nan_count": put(flat(50, 0.0), 45, 12.0, 40.0)}),
        Case("growing but finite", "absent", lambda: {"activations/block3_max": 1 / falling(50, 1.0, 1e-4)}),
        Case("only the first row is NaN", "absent", lambda: {"act_norm/fc1": put(flat(50, 3.0), 0, NAN)}),
        case("a logarithm in a compiled model", "present", rerun=Operation("log", elements=8, line="train.py:11")),
        case("a compiled model that cannot be run again", "present", compiled="Net"),
        case("the loss grew first", "unknown", recent=(1.0, 1e20), rerun=Operation("mm", elements=8)),
        Case("not logged", "unknown", lambda: {"loss": put(falling(50, 2.3, 0.4), 40, *[NAN] * 10)}),
    ),
)  # fmt: skip
