"""val-inputs-differ: evaluation inputs have another scale than training inputs."""

from __future__ import annotations

import math
from statistics import median_high

from traindx.diagnosis import Observation
from traindx.measurements import InputScales, Measured
from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "val-inputs-differ"
# the ratio of the standard deviations, or the distance of the means in training deviations
SCALE = fitted(f"{ID}.scale", 2.0, unit="times the usual deviation", strong=10.0)
BEYOND = fitted(f"{ID}.beyond", 1.5, unit="times as far as any training batch")
BATCHES = Threshold(2, "batches of each side", "of one batch it is not known how far batches vary")
SHARE = Threshold(0.5, "of the evaluation batches", "the rest may be of the training set, which some evaluate as well")
ALL_DIFFER, SOME_DIFFER = 0.7, 0.5  # clarity at least, where all evaluation batches differ or only some


def judge(measured: Measured) -> Observation | None:
    looks = [found for one in measured.all(InputScales) if (found := _judge(one)) is not None]
    differ = [one for one in looks if one.state == "present"]
    return max(differ, key=lambda one: one.clarity) if differ else next(iter(looks), None)


def _judge(scales: InputScales) -> Observation | None:
    train = list(zip(scales.train_means, scales.train_deviations, strict=True))
    held = list(zip(scales.held_means, scales.held_deviations, strict=True))
    if not BATCHES.reached(min(len(train), len(held))) or scales.train_width != scales.held_width:
        return None
    mean, deviation = _median(train)
    if deviation <= 0:
        return None
    usual = max(scale_distance(batch, mean, deviation) for batch in train)
    distances = [scale_distance(batch, mean, deviation) for batch in held]
    other = [
        batch
        for batch, distance in zip(held, distances, strict=True)
        if SCALE.reached(distance) and BEYOND.reached(distance / usual)
    ]
    if BATCHES.reached(len(other)) and SHARE.reached(len(other) / len(held)):
        there = _median(other)
        sentence = (
            f"Inputs in evaluation have mean {num(there[0])} and standard deviation {num(there[1])}, in training "
            f"{num(mean)} and {num(deviation)} ({len(other)} of {len(held)} batches)."
        )
        least = ALL_DIFFER if len(other) == len(held) else SOME_DIFFER
        return seen(ID, True, sentence, at=scales, clarity=_clarity(scale_distance(there, mean, deviation), least))
    if other:
        return None
    sentence = f"Inputs have one scale in training and evaluation (standard deviation {num(deviation)})."
    return seen(ID, False, sentence, at=scales)


def _median(batches: list[tuple[float, float]]) -> tuple[float, float]:
    return median_high(mean for mean, _ in batches), median_high(deviation for _, deviation in batches)


def _clarity(distance: float, least: float) -> float:
    """On a logarithmic scale from `least` at the threshold to 1 at the strong value."""
    share = math.log(distance / SCALE.value) / math.log((SCALE.strong or SCALE.value) / SCALE.value)
    return min(1.0, least + (1 - least) * max(0.0, share))


def scale_distance(batch: tuple[float, float], mean: float, std: float) -> float:
    """How far a batch is from the usual: the ratio of the deviations, or the distance of the means in deviations."""
    least = max(std, 1e-12)
    ratio = max(batch[1], 1e-12) / least
    return max(ratio, 1 / ratio, abs(batch[0] - mean) / least)


def _scales(*held: tuple[float, float], width: int = 8) -> InputScales:
    return InputScales(
        train_means=(0.0, 0.1, -0.1, 0.0),
        train_deviations=(1.0, 1.1, 0.9, 1.0),
        held_means=tuple(mean for mean, _ in held),
        held_deviations=tuple(deviation for _, deviation in held),
        train_width=8,
        held_width=width,
        where="Net",
    )


SYMPTOM = Symptom(
    id=ID,
    title="validation inputs of another scale",
    severity="problem",
    family="val-inputs",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Mean or standard deviation of the inputs in evaluation differ at least twofold (in training deviations) from training.

## How it is measured
Mean and standard deviation of whole input batches in training and between updates with gradients off, up to 12 of each.
A batch differs where the ratio of the deviations, or the distance of the means in training deviations, is at least 2
and 1.5 times that of any training batch; at least two batches and half of those seen must differ. Inputs of another
width are not compared. A probe asks for a ratio or a distance of 3.

## Healthy range
The same mean and deviation within sampling noise; augmentation changes them by a few percent.

## What it usually means
One of the two goes through another transform: a missing normalisation, 0 to 255 against 0 to 1, other constants.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("divided by 255 only in validation", "present", measured=(_scales((0.0, 0.004), (0.0, 0.004)),)),
        Case("moved by three deviations", "present", measured=(_scales((3.0, 1.0), (3.1, 1.0)),)),
        Case("moved by one and a half", "absent", measured=(_scales((1.5, 1.0), (1.5, 1.0)),)),
        Case("the same transform", "absent", measured=(_scales((0.1, 1.0), (0.0, 1.1)),)),
        Case("two of four batches", "present", measured=(_scales((5, 1), (5, 1), (0, 1), (0, 1)),)),
        Case("one of four batches", "unknown", measured=(_scales((5, 1), (0, 1), (0, 1), (0, 1)),)),
        Case(
            "later ones differ", "present", measured=(_scales((0, 1), (0, 1)), _scales((0, 1), (0, 1), (5, 1), (5, 1)))
        ),
        Case("one batch", "unknown", measured=(_scales((5.0, 1.0)),)),
        Case("inputs of another kind", "unknown", measured=(_scales((5.0, 1.0), (5.0, 1.0), width=3),)),
        Case("a probe shows it", "present", facts=(Fact(ID, True, "The means differ by 5 deviations."),)),
        Case("a log alone", "unknown"),
    ),
)
