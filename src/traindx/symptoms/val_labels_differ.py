"""val-labels-differ: validation labels name the classes differently."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "val-labels-differ"

SYMPTOM = Symptom(
    id=ID,
    title="validation labels are permuted",
    severity="problem",
    family="val-labels",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The model recognises the classes of the validation data, but each under another label: most samples of one label are
consistently taken for one other class.

## How it is measured
Labels against predictions in the losses computed with gradients off. A permutation is called when the training labels are
mostly right, the validation labels mostly wrong, and at least 60 % of each label go to one class of its own.

## Healthy range
The largest share of each label goes to the class of that name.

## What it usually means
Two label encoders, fitted separately; classes listed in another order by two folders; labels that start at 1 in one split.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "two encoders", "present",
            facts=(Fact(ID, True, "Validation labels are permuted: the model takes class 0 for 1, 1 for 2, 2 for 0, each consistently, while it is right on 97 % of the training labels."),),
        ),
        Case("one encoder", "absent", facts=(Fact(ID, False, "The model is right on 93 % of the validation labels."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
