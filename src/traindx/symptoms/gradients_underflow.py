"""gradients-underflow: float16 gradients are too small for their number format."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import HalfGradients, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "gradients-underflow"
MIN_LOOKS = Threshold(3, "updates looked at", "the first may be a warm-up")
TINY = Threshold(
    0.5, "of the gradients that are not zero, below the smallest normal float16", "the median one has lost digits"
)
LOST = Threshold(
    0.9,
    "of the gradients, zero or below the smallest normal float16",
    "below it a float16 loses a bit with every halving (IEEE 754); few that keep all is little to learn by",
    strong=0.99,
)
ALL_ZERO = Threshold(0.999, "of the gradients are zero", "a sparse gradient has some that are not")


def judge(measured: Measured) -> Observation | None:
    last = measured.last(HalfGradients)
    if last is None or not MIN_LOOKS.reached(last.looks):
        return None
    lost = last.zero + last.tiny
    alive = 1 - last.zero
    faded = alive > 0 and TINY.reached(last.tiny / alive)
    if LOST.reached(lost) and (faded or ALL_ZERO.reached(last.zero)):
        text = (
            f"{percent(lost)} of the float16 gradients are zero or below 6.1e-05, where float16 loses its digits "
            f"({percent(last.zero)} are zero): multiply the loss before `backward` (GradScaler), the rate is not to "
            "blame."
        )
        return seen(ID, True, text, at=last, clarity=max(0.9, LOST.clarity(lost)))
    return seen(ID, False, f"{percent(lost)} of the float16 gradients are zero or too small for it.", at=last)


def _gradients(zero: float, tiny: float, looks: int = 4) -> HalfGradients:
    return HalfGradients(looks=looks, matrices=4, zero=zero, tiny=tiny)


SYMPTOM = Symptom(
    id=ID,
    title="gradients underflow in half precision",
    severity="problem",
    family="rounding",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The gradients are float16 and so small that most of them are zero or have lost their digits.

## How it is measured
On steps that are looked at closely, the share of float16 gradients that are zero, and of those below 6.1e-5, the
smallest normal float16 number. Present when both together are nine tenths, and half of those that are not zero are too
small (zeros alone are what ReLUs and sparse inputs give), in the mean of three updates or more.

## Healthy range
A few per cent. A loss that is scaled before `backward` keeps gradients far above it.

## What it usually means
`model.half()` without a gradient scaler, a loss that is divided by something large, or a loss scale that fell too far.
Micikevicius et al., *Mixed Precision Training*, ICLR 2018, section 3.2.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("nearly all lost", "present", measured=(_gradients(0.6, 0.39),)),
        Case("all zero", "present", measured=(_gradients(1.0, 0.0),)),
        Case("zeros of ReLUs", "absent", measured=(_gradients(0.92, 0.01),)),
        Case("scaled", "absent", measured=(_gradients(0.05, 0.02),)),
        Case("two updates: too few to say", "unknown", measured=(_gradients(0.6, 0.39, 2),)),
        Case("a log alone", "unknown"),
    ),
)
