"""Cause: samples packed into one row attend to each other."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
Training on packed instructions gives a lower loss and worse answers than training on padded ones. The model takes up
names or facts of other samples, and at the first question of a conversation behaves unlike later in a row.

## Why it happens
Packing saves padding by putting several samples into one row. Without a mask of blocks, attention of a later sample
reaches all before it in the row: it learns to use contexts that will not be there. For long running text that hardly
matters; for short instructions, each row is ten unrelated questions.

## How to tell it from its look-alikes
Change a token of the first sample and see whether outputs of the second one move: that is what the recording tries.

## How to fix it
1. TRL: `packing=True` with `packing_strategy="bfd"` and an attention that knows the lengths (`flash_attention_2`), or
   `padding_free=True`.
2. By hand: position ids that begin again, and a mask of blocks (`flex_attention`, or a 4-D mask).
3. Pad instead, and group samples by length.

## What NOT to do
- Do not remove separators.
- Do not compare losses of packed and padded rows: contexts differ.

## References
- Krell et al., *Efficient Sequence Packing without Cross-contamination*, 2021.
- Hugging Face TRL documentation, *Reducing memory usage*: packing, padding-free.
"""

CAUSE = Cause(
    id="packing-cross-contamination",
    title="packed samples see each other",
    group="what the loss sees",
    check="change a token of the first packed sample: outputs of the second one must not change",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "documents-not-separated": "always",
        "val-left-behind": "sometimes",
        "still-improving": "sometimes",
        "plateau": "sometimes",
    },
    look_alikes={
        "position-ids-wrong": "samples do not see each other there; only their positions are off",
        "healthy": "running text with end tokens between documents is packed so in most pretrainings, without harm",
        "train-val-leak": "validation is too good there",
    },
    fixes=("separate-packed-samples",),
    do_not=(
        "drop the end tokens between samples: then nothing tells where one ends",
        "shuffle the samples within rows: they still see each other",
        "blame the data for answers about other questions: the answers came from the row",
    ),
    doc=DOC,
    cases=(
        Case("fires", "packed rows of instructions without boundaries", present=("documents-not-separated",)),
        Case(
            "healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "documents-not-separated")
        ),
        Case(
            "look-alike",
            "position ids run on",
            present=("positions-not-restarted",),
            absent=("documents-not-separated",),
            expects="position-ids-wrong",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: several samples in a row, and what tells them apart",
)
