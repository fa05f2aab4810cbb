"""nan-from-division: the loss divides by zero."""

from __future__ import annotations

from functools import partial

from traindx.measurements import BadData, Operation, PathToLoss, PreparingLine
from traindx.symptoms.base import Symptom
from traindx.symptoms.nan_origin import case, judged, other_cases
from traindx.symptoms.observed import from_measurements

ID = "nan-from-division"


SYMPTOM = Symptom(
    id=ID,
    title="division by zero",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite contains a division by zero, a mean over no elements, or the gradient of a square root
at zero.

## How it is measured
Read off the graph of the loss, which holds the divisors; for gradients, off the graph of the step before the weights
became NaN. Data that are NaN are traced to the line that made them of finite numbers. Where the graph shows nothing,
the model is run once more on a copy, and its first operation that leaves the finite numbers counts. Data that came
so, growth of the loss and Inf in a float16 exclude it.

## Healthy range
Divisors with a small constant added, means over masks that are never empty.

## What it usually means
A batch without a single valid element, a norm or a variance of zero, a distance of a point to itself.
""",
    detect=from_measurements(ID, partial(judged, ID)),
    cases=(
        case("a mask is empty", "present", operations=(Operation("division", elements=32, singular=1, high=7.0),)),
        case("a mean over nothing", "present", operations=(Operation("empty mean"),)),
        case(
            "the gradient of a root at zero",
            "present",
            what="gradients",
            operations=(Operation("sqrt", elements=32, singular=1, gradient=True),),
        ),
        case(
            "a column without spread is divided by it",
            "present",
            data=BadData(
                "inputs",
                "NaN",
                16,
                64,
                (0, 1, 2, 3),
                16,
                columns=(2,),
                columns_bad=1,
                made_by=PreparingLine("division", "train.py:7", "X = (X - mu) / sd", "sd"),
            ),
        ),
        case("data came so", "absent", data=BadData("inputs", "NaN", 1, 128, (13,), 1)),
        case("the loss grew first", "absent", recent=(1e10, 1e20, 7e34), operations=(Operation("division", 32, 1),)),
        case(
            "a float16 that holds Inf comes first",
            "absent",
            path=PathToLoss(half=True, half_infinite="Mul"),
            operations=(Operation("division", 32, 1),),
        ),
        *other_cases(ID),
    ),
)
