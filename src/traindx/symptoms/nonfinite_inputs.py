"""nonfinite-inputs: NaN or Inf in what the model was fed."""

from __future__ import annotations

from functools import partial

from traindx.measurements import BadData, Operation, PreparingLine
from traindx.symptoms.base import Symptom
from traindx.symptoms.nan_origin import case, judged, other_cases
from traindx.symptoms.observed import from_measurements

ID = "nonfinite-inputs"


SYMPTOM = Symptom(
    id=ID,
    title="NaN or Inf in the data",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite was computed from a batch that already held NaN or Inf, in its inputs or its targets.

## How it is measured
When a loss is not finite for the first time, the inputs that entered its graph and the targets of the loss function
are searched. The evidence names rows and columns; the batch is kept in the recording, under `batches/`. Data that
were finite when the loader gave them out, or that a line of the script is seen to have spoilt, count as that line's
doing.

## Healthy range
No value that is not finite, in any batch.

## What it usually means
Missing values, a feature without variance divided by its deviation, a logarithm in the preprocessing, a failed decode.
""",
    detect=from_measurements(ID, partial(judged, ID)),
    cases=(
        case(
            "an empty cell of a table",
            "present",
            data=BadData("inputs", "NaN", 1, 128, (13,), 1, columns=(2,), columns_bad=1),
        ),
        case(
            "a line of the script made it",
            "absent",
            data=BadData("inputs", "NaN", 1, 128, made_by=PreparingLine("log", "train.py:7", "x = x.log()")),
        ),
        case("the loader gave out finite numbers", "absent", data=BadData("inputs", "NaN", 1, 128, batch_finite=True)),
        case("the logarithm did it", "absent", operations=(Operation("log", elements=640, singular=3),)),
        case("inputs and targets are finite, the rest is not known", "absent", searched=True),
        *other_cases(ID),
    ),
)
