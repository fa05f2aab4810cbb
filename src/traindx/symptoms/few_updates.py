"""few-updates: the training ended by itself after a handful of updates."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "few-updates"

SYMPTOM = Symptom(
    id=ID,
    title="ended after a handful of updates",
    severity="problem",
    family="few-updates",
    background=0.01,
    needs=("recording from the inside",),
    doc="""
## What is observed
The script came to its own end after fewer than fifty optimiser updates, and the loss had not fallen by much.

## How it is measured
A recording counts the updates themselves, so it cannot take epochs for steps. Present when the script ended without an error
and without `--steps` after fewer than 50 updates with a last loss above 70 % of the first, or above 30 % where it fell to the end as
fast as at first, or after fewer than 150 with one above 90 %.

## Healthy range
Hundreds of updates, even for small data. An epoch over few samples in large batches is only a few updates: two epochs of five
batches are ten.

## What it usually means
Too few epochs for the size of the data set, a batch so large that an epoch has hardly any updates, or a loop that was left early.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The training ended by itself after 10 updates; the loss is still 97 % of its first value.",
        "The training ended after 1200 updates.",
    ),
)
