"""inputs-unscaled: the data reaches the first layer in its raw units."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "inputs-unscaled"

SYMPTOM = Symptom(
    id=ID,
    title="inputs are not normalised",
    severity="problem",
    family="input-scale",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Some feature reaches the first layer with weights at a mean or standard deviation far from 0 and 1: pixels in 0 to 255, a
pressure in pascals.

## How it is measured
Where data first meets weights, on the first steps that are looked at closely: mean and standard deviation of every feature
(every channel of an image), the middle of several batches. What the model does to its input before that layer counts, and a
normalisation layer in the first place settles it. Token ids are no features. Clarity grows with the size, from 20 to 300.

## Healthy range
Mean near 0 and standard deviation near 1; anything of the order of 1 to 10 does no harm.

## What it usually means
The scaling step is missing or is applied to another copy of the data. One large feature drowns the others, the first
loss is huge, and a learning rate that suits the one feature is wrong for the rest.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "a pressure in pascals", "present",
            facts=(Fact(ID, True, "Data reaches layer 0 with mean 2.983e+05 and standard deviation 5.402e+04 in feature 1."),),
        ),
        Case("standardised features", "absent", facts=(Fact(ID, False, "Data reaches layer 0 with means and deviations of at most 1.2."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
