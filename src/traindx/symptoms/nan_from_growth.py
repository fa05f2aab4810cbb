"""nan-from-growth: the loss grew out of the numbers."""

from __future__ import annotations

from functools import partial

from traindx.measurements import BadData, PathToLoss
from traindx.symptoms.base import Symptom
from traindx.symptoms.nan_origin import case, judged, other_cases
from traindx.symptoms.observed import from_measurements

ID = "nan-from-growth"


SYMPTOM = Symptom(
    id=ID,
    title="growth until overflow",
    severity="problem",
    family="nan-origin",
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Before the first loss that is not finite the losses rose by orders of magnitude: each update made the next one larger.

## How it is measured
The last 50 losses are kept. Growth means that the last finite loss is a thousand times the smallest of the first three,
or larger than 1e12 and ten times the median, and that the losses were still rising. Data that are NaN exclude it. Or,
from finite inputs and weights, numbers on the way to the loss pass 1e18 and others the end of their range, within one
pass through the model, and no operation was given a number at which it is not finite.

## Healthy range
A loss that falls, with spikes of less than tenfold.

## What it usually means
Updates that are too large: the learning rate, above all, or gradients made huge by unscaled targets, a summed loss,
recurrence without clipping.
""",
    detect=from_measurements(ID, partial(judged, ID)),
    cases=(
        case("SGD at 1.5", "present", recent=(1.46, 1e10, 7.16e34)),
        case("a thousand times the first losses", "present", recent=(1.4, 900.0, 1400.0)),
        case("half of that", "unknown", recent=(1.4, 400.0, 700.0)),
        case("large, and falling again", "unknown", recent=(1e6, 1e5, 1e4)),
        case("losses that are large by nature", "unknown", first=(2e12,), recent=(2e12, 1.9e12, 1.95e12)),
        case("numbers outgrow their range within one pass", "present", path=PathToLoss(infinite=True, largest=1e30)),
        case("they are far from that", "unknown", path=PathToLoss(infinite=True, largest=1e10)),
        case("the data did it", "absent", recent=(1.4, 1e10), data=BadData("inputs", "NaN", 1, 128, (13,), 1)),
        *other_cases(ID),
    ),
)
