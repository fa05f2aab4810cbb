"""initial-weights-large: initial weights far larger than the width of the layers allows."""

from __future__ import annotations

import math
from statistics import median

from traindx.diagnosis import Observation
from traindx.measurements import InitialScales, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "initial-weights-large"
SCALE = fitted(f"{ID}.scale", 3.5, unit="standard deviation · √fan-in, median layer", strong=6.0)
GAIN = fitted(f"{ID}.gain", 3.0, unit="powers of ten through all layers without norms", strong=6.0)
# both at once: each layer beyond any usual start, and a signal that grows thirtyfold
SCALE_TOGETHER = fitted(f"{ID}.scale-together", 2.0, unit="standard deviation · √fan-in, median layer")
GAIN_TOGETHER = fitted(f"{ID}.gain-together", 1.5, unit="powers of ten through all layers without norms")
# of a recurrent matrix: 1 for an orthogonal one or the identity, 0.6 for torch's own
LOOP = fitted(f"{ID}.loop", 1.4, unit="standard deviation · √fan-in of a recurrent matrix", strong=2.2)
CLEAR = 0.4  # clarity at a threshold, and of an absence: weights of another size may be meant
HE = math.sqrt(2)  # the scale that keeps a ReLU network's signal: He et al. 2015, arXiv:1502.01852, equation 10
MANY_DIGITS = 5  # powers of ten from which on 1e5 is the easier number
TINY = 1e-12  # below which a scale has no logarithm worth having


def judge(measured: Measured) -> Observation | None:
    start = measured.last(InitialScales)
    if start is None:
        return None
    scale, gain = median(start.scales), gain_of(start)
    grows = GAIN.reached(gain) or (SCALE_TOGETHER.reached(scale) and GAIN_TOGETHER.reached(gain))
    loops = LOOP.reached(start.loop)
    large = SCALE.reached(scale) or grows or loops
    evidence = described(start)
    if grows:
        times = f"1e{gain:.0f}" if gain >= MANY_DIGITS else f"{10 ** round(gain)}"
        evidence += f", which would amplify the signal about {times}-fold through {start.layers} layers"
    if loops:
        evidence += f"; {start.loop_name} multiplies the state of a sequence by about {start.loop:.2g} at every step"
    where = (start.loop_name if loops else start.widest) if large else None
    clarity = max(CLEAR, SCALE.clarity(scale), GAIN.clarity(gain), LOOP.clarity(start.loop))
    return seen(ID, large, f"{evidence}.", at=start, where=where, clarity=clarity)


def gain_of(start: InitialScales) -> float:
    """Powers of ten by which the size of a signal changes on its way through all layers; norms keep it as it is."""
    return 0.0 if start.normalised else start.layers * math.log10(max(median(start.scales), TINY) / HE)


def described(start: InitialScales) -> str:
    return (
        f"The initial weights have a standard deviation of {median(start.scales):.2g}/√fan-in, the median of "
        f"{start.layers} layers (usual 0.3 to 1.5)"
    )


def scales_of(*scales: float, normalised: bool = False, loop: float = 0.0) -> InitialScales:
    """For cases."""
    return InitialScales(
        layers=len(scales),
        scales=scales,
        loop=loop,
        loop_name="rnn.weight_hh_l0" if loop else "",
        widest="fc2.weight",
        first="fc1.weight",
        normalised=normalised,
    )


SYMPTOM = Symptom(
    id=ID,
    title="initial weights are far too large",
    severity="problem",
    family="initial-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights begin with a spread that multiplies the signal by several times in every layer.

## How it is measured
The standard deviation of each weight matrix before the first update, times the square root of its fan-in; the median
of all layers counts. Present from 3.5, plain from 6, and from 2 where layers without norms multiply a signal by thirty
and more on its way through all of them; present whatever the median where they multiply it by a thousand (plain from
1e6), or where a recurrent matrix has 1.4 or more (plain from 2.2).

## Healthy range
0.6 for torch's own start, 1 for Xavier, 1.4 for He; a fixed 0.02 gives 0.1 to 2 in usual widths.

## What it usually means
normal_(std=1), torch.randn parameters without a factor, or a gain that was meant for another function.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("std 1", "present", measured=(scales_of(2.8, 6.3, 6.3),)),
        Case("std 1 under norms", "present", measured=(scales_of(2.8, 6.3, 6.3, normalised=True),)),
        Case("He", "absent", measured=(scales_of(*[1.4] * 9),)),
        Case("just below, in three layers", "absent", measured=(scales_of(3.4, 3.4, 3.4, normalised=True),)),
        Case("growth in many layers", "present", measured=(scales_of(*[2.6] * 6),)),
        Case("the same in two layers", "absent", measured=(scales_of(2.6, 2.6),)),
        Case("a thousandfold growth of hardly large weights", "present", measured=(scales_of(*[1.7] * 40),)),
        Case("a state that grows at every step", "present", measured=(scales_of(0.6, 2.5, 0.6, loop=2.5),)),
        Case("an orthogonal recurrent matrix", "absent", measured=(scales_of(0.6, 1.0, 0.6, loop=1.0),)),
        Case("a log alone", "unknown"),
    ),
)
