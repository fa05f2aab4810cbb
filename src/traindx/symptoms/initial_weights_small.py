"""initial-weights-small: initial weights so small that signals fade."""

from __future__ import annotations

from statistics import median

from traindx.diagnosis import Observation
from traindx.measurements import InitialScales, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.initial_weights_large import CLEAR, described, gain_of, scales_of
from traindx.symptoms.observed import from_measurements, overcome, seen
from traindx.thresholds import Threshold, fitted

ID = "initial-weights-small"
LAYERS = Threshold(
    2, "layers", "through a single one a signal fades once at most, and the next learns to make up for it"
)
SCALE = fitted(f"{ID}.scale", 0.05, unit="standard deviation · √fan-in, median layer", strong=0.01, side="below")
# both at once, where no normalisation helps
SCALE_TOGETHER = fitted(f"{ID}.scale-together", 0.1, unit="standard deviation · √fan-in, median layer", side="below")
GAIN = fitted(f"{ID}.gain", -4.0, unit="powers of ten through all layers without norms", side="below")
FADED_CLARITY = 0.6  # that little of a signal arrives is plainer than the size of one layer
# norm layers restore the scale, but not of what is smaller than the number they add under their root
VANISHED = fitted(f"{ID}.vanished", 1e-3, unit="standard deviation · √fan-in, median layer", side="below")
RESCUED = 0.5  # of the clarity, where norm layers restore the scale


def judge(measured: Measured) -> Observation | None:
    start = measured.last(InitialScales)
    if start is None or not LAYERS.reached(start.layers):
        return None
    scale, gain = median(start.scales), gain_of(start)
    faded = SCALE_TOGETHER.reached(scale) and GAIN.reached(gain)
    small = SCALE.reached(scale) or faded
    evidence = described(start) + (f", which leaves 1e{gain:.0f} of a signal behind the last layer" if faded else "")
    clarity = max(CLEAR, SCALE.clarity(scale), FADED_CLARITY if faded else 0.0)
    if start.normalised and not VANISHED.reached(scale):
        clarity *= RESCUED
    return seen(ID, small, f"{evidence}.", at=start, where=start.first if small else None, clarity=clarity)


SYMPTOM = Symptom(
    id=ID,
    title="initial weights are far too small",
    severity="problem",
    family="initial-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights begin so small that the signal loses more than nine tenths of its size in every layer.

## How it is measured
The standard deviation of each weight matrix before the first update, times the square root of its fan-in; the median
of all layers counts. Present below 0.05, plain below 0.01, and less clear where norm layers restore the scale; and
below 0.1 where all layers together leave less than 1e-4 of a signal and no norm layer restores it. Doubted where nine
tenths of the loss are gone all the same: functions that scale their inputs (sin(30 x), say) make up for small weights.

## Healthy range
0.6 for torch's own start, 1 for Xavier, 1.4 for He; a fixed 0.02 gives 0.1 to 2 in usual widths.

## What it usually means
normal_(std=1e-4) or a factor applied twice.
""",
    detect=from_measurements(ID, judge, doubt=overcome),
    cases=(
        Case("std 1e-4", "present", measured=(scales_of(0.001, 0.001, 0.003),)),
        Case("std 1e-4 under norms", "present", measured=(scales_of(0.001, 0.001, 0.003, normalised=True),)),
        Case("Xavier", "absent", measured=(scales_of(*[1.0] * 9),)),
        Case("just above", "absent", measured=(scales_of(0.06, 0.06),)),
        Case("a signal that three layers let fade", "present", measured=(scales_of(0.06, 0.06, 0.06),)),
        Case("the same under norms", "absent", measured=(scales_of(0.06, 0.06, 0.06, normalised=True),)),
        Case("one layer that can be measured", "unknown", measured=(scales_of(0.01),)),
        Case("a log alone", "unknown"),
    ),
)
