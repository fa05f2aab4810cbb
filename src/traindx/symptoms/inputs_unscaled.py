"""inputs-unscaled: the data reaches the first layer in its raw units."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from traindx.diagnosis import Observation
from traindx.measurements import InputScale, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.scales import clarity_of_size
from traindx.thresholds import Threshold, fitted

ID = "inputs-unscaled"
# normalised data has 0 and 1, images in 0..1 stay below 1
LARGE = fitted(f"{ID}.large", 20.0, unit="mean or standard deviation of a feature", strong=300.0)
# up to the strong value nobody would call them unscaled; a gradient grows with the square of what is beyond
ORDINARY = fitted(f"{ID}.ordinary", 20.0, unit="mean or standard deviation of a feature", strong=2.0, side="below")
UNEVEN = fitted(f"{ID}.uneven", 1e3, unit="times the scale of the smallest feature, to be worth a word")
BATCHES = Threshold(3, "batches", "one odd batch of three does not move their median")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(InputScale)
    scales = [one for one in looks if not one.normalising]
    medians = [_median(scales[:count]) for count in range(1, len(scales) + 1) if BATCHES.reached(count)]
    large = [one for one in medians if LARGE.reached(one.largest)]
    if large:
        return _present(max(large, key=lambda one: one.largest))
    if medians:
        first = medians[0]
        text = f"Data reaches layer {first.where} with means and standard deviations of at most {first.largest:.3g}."
        return seen(ID, False, text, at=first, clarity=clarity_of_size(ORDINARY, first.largest))
    layer = next((one for one in looks if one.normalising), None)
    if layer is None:
        return None
    return seen(ID, False, f"The data goes through {layer.where} first, which normalises it.", at=layer)


def _present(look: InputScale) -> Observation:
    spread = look.largest / look.smallest if look.smallest else 1.0
    uneven = f"; the features differ {spread:.2g}-fold in scale" if UNEVEN.reached(spread) else ""
    text = (
        f"Data reaches layer {look.where} with mean {look.mean:.4g} and standard deviation {look.std:.4g} in feature "
        f"{look.feature}{uneven} (normalised: 0 and 1)."
    )
    return seen(ID, True, text, at=look, clarity=clarity_of_size(LARGE, look.largest))


def _median(looks: Sequence[InputScale]) -> InputScale:
    """The look whose largest feature is the median of all, at the step of the last."""
    usual = sorted(looks, key=lambda one: one.largest)[len(looks) // 2]
    smallest = sorted(one.smallest for one in looks)[len(looks) // 2]
    return msgspec.structs.replace(usual, smallest=smallest, step=looks[-1].step)


def _looks(*sizes: float) -> tuple[InputScale, ...]:
    return tuple(
        InputScale(
            normalising=False, batch=n + 1, update=n + 1, largest=size, smallest=1.0, mean=size, std=1.0, where="0"
        )
        for n, size in enumerate(sizes)
    )


SYMPTOM = Symptom(
    id=ID,
    title="inputs are not normalised",
    severity="problem",
    family="input-scale",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Some feature reaches the first layer with weights at a mean or standard deviation far from 0 and 1: pixels in 0 to 255,
a pressure in pascals.

## How it is measured
Where data first meets weights, on the first twelve steps that are looked at closely: mean and standard deviation of
every feature (every channel of an image), the median of three batches and more. Samples that reach more than 50 times
as far as the median sample are left out. What the model does to its input before that layer counts, and a normalisation
layer in the first place settles it. Token ids are no features. From 20 on it is present, and clear from 300 on; below,
it is clearly absent up to 2.

## Healthy range
Mean near 0 and standard deviation near 1; anything of the order of 1 to 10 does no harm.

## What it usually means
The scaling step is missing or is applied to another copy of the data. One large feature drowns the others, the first
loss is huge, and a learning rate that suits the one feature is wrong for the rest.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a pressure in pascals", "present", measured=_looks(2.9e5, 3.0e5, 3.1e5)),
        Case("standardised features", "absent", measured=_looks(1.1, 1.2, 1.3)),
        Case("just beyond what does no harm", "present", measured=_looks(20.5, 20.5, 20.5)),
        Case("just below it", "absent", measured=_looks(19.5, 19.5, 19.5)),
        Case("one odd batch", "absent", measured=_looks(1.1, 3e5, 1.3)),
        Case("two batches", "unknown", measured=_looks(3e5, 3e5)),
        Case("batch norm first", "absent", measured=(InputScale(normalising=True, where="0"),)),
        Case("a log alone", "unknown"),
    ),
)
