"""targets-not-next-token: targets are not the next token."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "targets-not-next-token"

SYMPTOM = Symptom(
    id=ID,
    title="targets are not the next token",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "input tokens",
    ),
    doc="""
## What is observed
In a language model the target of a position is the token at that position, or the one after the next, instead of the
next.

## How it is measured
A recording compares the integer targets of the loss with the tokens that went into the embedding: at least 99 % agree
at offset 0 (or 2), in two looks, and the text does not repeat itself. Embeddings of another size, such as positions,
are left out. Of an encoder and a decoder the one counts whose next tokens are the targets; where there is none, one that was fed
the targets themselves. In a regression: every target of a batch is one and the same number of its own input, in two looks (the last
value of the window that is to be forecast, a column that was not taken out).

## Healthy range
Offset 1: the target is the next token.

## What it usually means
Labels that are a copy of the inputs with a model that does not shift them itself, or that were shifted by the data
set and again by the model.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The targets of cross_entropy equal the input tokens at the same position (100 %): the model only has to copy.",
        "Targets are the next token.",
    ),
)
