"""validation-seen-in-training: validation samples occur in the training data."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "validation-seen-in-training"

SYMPTOM = Symptom(
    id=ID,
    title="validation samples in the training data",
    severity="problem",
    family="leak",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
More than a fifth of the samples evaluated between updates are, byte for byte, samples the model was trained on.

## How it is measured
Rows of input batches are remembered by a 64-bit hash, up to 200 000; how often training rows return tells how much of the
training set is known. Where batches are cut from a table that a running function holds (a variable, an attribute, an array), its
length tells it too, and all rows of a table with up to a million numbers are compared at once. Validation rows may stand in the same
table, so that those found in it count only if they were seen in training batches as often as its other rows. At the end the last
evaluation that was seen is compared with what was trained on after it, too; rows that are trained on only after their evaluation,
as those of folds and streams, do not count. The batch just trained on and an evaluation of the whole training set are training metrics and do not count, nor do inputs with few distinct
rows. If all evaluated samples come from the training data, that may be meant, and the clarity is lower.

## Healthy range
No sample in common, or up to one in twenty, as duplicates in the data bring.

## What it usually means
A split with replacement, a validation set drawn from the training set, duplicates in the data, or a random split made anew at
every start.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "rows drawn twice", "present",
            facts=(Fact(ID, True, "48 % of 200 evaluated samples are among the 900 training samples seen so far."),),
        ),
        Case("a clean split", "absent", facts=(Fact(ID, False, "None of 143 evaluated samples is among the 426 training samples seen."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
