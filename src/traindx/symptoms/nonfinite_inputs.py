"""nonfinite-inputs: NaN or Inf in what the model was fed."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

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
When a loss is not finite for the first time, the inputs that entered its graph and the targets of the loss function are
searched. The evidence names rows and columns; the batch is kept in the recording, under `batches/`.

## Healthy range
No value that is not finite, in any batch.

## What it usually means
Missing values, a feature without variance divided by its deviation, a logarithm in the preprocessing, a failed decode.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "an empty cell of a table", "present",
            facts=(Fact(ID, True, "The loss of update 4 is not finite: NaN in 1 of 128 values, row 13, column 2 of the inputs.", "train.py:51"),),
        ),
        Case("the logarithm did it", "absent", facts=(Fact(ID, False, "The first loss that is not finite has another origin: log of 3 of 640 values that are zero or less."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
