"""nan-from-half-overflow: a float16 number passed 65504."""

from __future__ import annotations

from functools import partial

from traindx.measurements import BadData, Operation, PathToLoss
from traindx.symptoms.base import Symptom
from traindx.symptoms.nan_origin import case, judged, other_cases
from traindx.symptoms.observed import from_measurements

ID = "nan-from-half-overflow"


SYMPTOM = Symptom(
    id=ID,
    title="float16 overflow",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite was computed through a float16 tensor that passed the range of that format, while data
and weights were finite and the loss had not grown.

## How it is measured
Read off the graph of the loss: float16 tensors that hold Inf, and powers of float16 values beyond 65504. With a
gradient scaler, which skips single steps by design, only after 20 such losses.

## Healthy range
Loss and reductions in float32 (autocast does so for torch's own loss functions), or bfloat16.

## What it usually means
A loss computed by hand on half-precision outputs: squares, sums or large units overflow.
""",
    detect=from_measurements(ID, partial(judged, ID)),
    cases=(
        case(
            "squared millivolts in float16",
            "present",
            operations=(Operation("power", 32, 2, low=-1140.0, high=900.0, exponent=2.0, dtype="float16"),),
        ),
        case("an activation holds Inf", "present", path=PathToLoss(half=True, half_infinite="Mul")),
        case(
            "so does it twenty times under a scaler",
            "present",
            scaled=True,
            nonfinite=20,
            path=PathToLoss(half=True, half_infinite="Mul"),
        ),
        case(
            "nineteen times: the scaler may still be at work",
            "unknown",
            scaled=True,
            nonfinite=19,
            path=PathToLoss(half=True, half_infinite="Mul"),
        ),
        case("there is no float16", "absent", path=PathToLoss(half=False)),
        case("somewhere is a float16, all of them finite", "unknown", path=PathToLoss(half=True)),
        case(
            "the weights were bad before",
            "unknown",
            weights_finite=False,
            path=PathToLoss(half=True, half_infinite="Mul"),
        ),
        case("data came so", "absent", data=BadData("inputs", "NaN", 1, 128, (13,), 1)),
        *other_cases(ID),
    ),
)
