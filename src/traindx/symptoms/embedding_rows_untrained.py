"""embedding-rows-untrained: tokens of the batches whose embeddings never learn."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import EmbeddingRows, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "embedding-rows-untrained"
UPDATES = Threshold(5, "updates", "a row that one of the first batches uses has had its gradient by then")
ALIKE = fitted(f"{ID}.alike", 2, unit="used rows that are copies of each other, as rows made from the mean are")
ALIKE_CLARITY = 0.6  # that they were added is not known, only what they look like
HEAD_CLARITY = 0.7


def judge(measured: Measured) -> Observation | None:
    latest = {one.where: one for one in measured.all(EmbeddingRows) if UPDATES.reached(one.updates)}
    if not latest:
        return None
    for look in latest.values():
        found = _added(look) or _copies(look)
        if found is not None:
            return found
    last = max(latest.values(), key=lambda one: one.used)
    if last.added_used:
        return seen(ID, False, f"All {last.added_used} added tokens that occur have embeddings that learn.", at=last)
    frozen = "" if last.trainable else ", which is frozen with the base"
    return seen(ID, False, f"No token was added to the {last.rows} rows of {last.where}{frozen}.", at=last)


def _added(look: EmbeddingRows) -> Observation | None:
    if look.added_used and look.added_still and not look.trainable:
        return seen(
            ID,
            True,
            f"{look.added} rows were added to {look.where}, {look.added_used} of them occur in the batches, and "
            f"{look.added_still} are exactly as they were after {look.updates} updates: the table is not trained.",
            at=look,
        )
    if look.added_used and look.trainable and look.head_trainable is False:
        return seen(
            ID,
            True,
            f"{look.added_used} added tokens occur in the batches and their embeddings learn, but the output matrix "
            f"is frozen: the model cannot learn to write them.",
            at=look,
            clarity=HEAD_CLARITY,
        )
    return None


def _copies(look: EmbeddingRows) -> Observation | None:
    if look.added or look.trainable or look.still < look.looked or not ALIKE.reached(look.alike):
        return None
    return seen(
        ID,
        True,
        f"{look.alike} tokens of the batches have embeddings in {look.where} that are copies of each other, as rows "
        f"of new tokens are, and the table is not trained ({look.updates} updates).",
        at=look,
        clarity=ALIKE_CLARITY,
    )


FROZEN = EmbeddingRows(
    rows=32002, columns=64, used=900, largest=32001, trainable=False, looked=512, still=512, updates=40, added=2,
    added_used=2, added_still=2, head_trainable=False, where="embed_tokens",
)  # fmt: skip
TRAINED = replace(FROZEN, trainable=True, still=0, added_still=0, head_trainable=True)

SYMPTOM = Symptom(
    id=ID,
    title="embeddings of new tokens never learn",
    severity="problem",
    family="embedding",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Tokens were added to the vocabulary and occur in the training batches, and their rows of the embedding are the same
numbers at the end as at the start.

## How it is measured
A recording notes which rows of an embedding the batches use, and compares their numbers with those before the first
update. Rows that `resize_token_embeddings` added in this process are known. Where nothing was resized here, rows that
are copies of each other but for rounding count, because new rows are made from the mean of the old ones; that is less
clear. Present when the table is frozen or in no optimiser and such rows do not move, or when they learn and the output
matrix with a row for each token is frozen. An adapter beside the embedding counts as training.

## Healthy range
New rows move with the first update that uses them. A frozen table without new tokens is how adapters are meant to work.

## What it usually means
LoRA without `modules_to_save=["embed_tokens", "lm_head"]` or `trainable_token_indices`.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("two new tokens under LoRA", "present", measured=(FROZEN,)),
        Case("the embedding is among the modules to save", "absent", measured=(TRAINED,)),
        Case("the embedding learns, the head does not", "present", measured=(replace(TRAINED, head_trainable=False),)),
        Case("nothing was added", "absent", measured=(replace(FROZEN, added=0, added_used=0, added_still=0),)),
        Case(
            "resized in an earlier process", "present",
            measured=(replace(FROZEN, added=0, added_used=0, added_still=0, alike=2),),
        ),
        Case("added for later, not used yet", "absent", measured=(replace(FROZEN, added_used=0, added_still=0),)),
        Case("too few updates", "unknown", measured=(replace(FROZEN, updates=3),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
