"""dropout-drops-most: a dropout layer throws nearly everything away."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "dropout-drops-most"

SYMPTOM = Symptom(
    id=ID,
    title="dropout drops nearly everything",
    severity="problem",
    family="dropout",
    background=0.002,
    needs=("recording from the inside",),
    doc="""
## What is observed
A dropout layer of the model sets four fifths of its inputs or more to zero in every training step.

## How it is measured
The rate of each dropout layer of the model that is trained. Present from 0.8 on; between 0.6 and 0.8 the rate only counts as a hint
beside other symptoms.

## Healthy range
0.1 to 0.5. Rates of 0.1 are usual in transformers, 0.5 in wide fully connected layers (Srivastava et al., 2014).

## What it usually means
The rate was meant as the share to keep (as in old TensorFlow), or was raised against overfitting until nothing is learnt. The
training loss then stays well above the validation loss, because validation runs without dropout.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID, "Dropout layer 2 drops 95 % of its inputs.", "The strongest dropout layer drops 20 % of its inputs."
    ),
)
