"""Cause: position ids do not count the tokens of each document."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
A pretrained model starts at a higher loss than it should and may recover slowly; a new one ends higher. With constant
ids it knows words and no order.

## Why it happens
`position_ids` say where each token stands. Made by hand for padded or packed rows, they easily count
padding, run on from one document to the next, or are all zero. Where lengths or a mask tell documents apart and the ids
do not begin again, later documents lie at positions that short ones never have.

## How to tell it from its look-alikes
Print `position_ids` of one row beside its tokens: 0, 1, 2, … from the first token of every document.

## How to fix it
1. Leave them out where rows are single samples padded on the right: the model counts by itself.
2. From the attention mask for left padding: `attention_mask.cumsum(1) - 1`, clamped at 0.
3. Beginning again at every document of a packed row.

## What NOT to do
- Do not enlarge the table of positions.
- Do not train longer.

## References
- Hugging Face Transformers documentation, *Glossary*: position IDs.
- Krell et al., *Efficient Sequence Packing without Cross-contamination*, 2021.
"""

CAUSE = Cause(
    id="position-ids-wrong",
    title="position ids wrong",
    group="what the loss sees",
    check="print position_ids of one row: 0, 1, 2, … from the first token of every document",
    prior="rare",
    predicts={
        "outcome-poor": "sometimes",
        **LEARNING_UNAFFECTED,
        "positions-not-restarted": "always",
        "slow-convergence": "sometimes",
        "plateau": "sometimes",
        "underfitting": "sometimes",
        "high-initial-loss": "sometimes",
        "still-improving": "sometimes",
        "val-left-behind": "sometimes",
    },
    look_alikes={
        "packing-cross-contamination": "samples see each other there, whatever their positions are",
        "padding-not-masked": "padding counts or is attended to there; positions are right",
    },
    fixes=("restart-position-ids",),
    do_not=(
        "add more position embeddings: the ids are wrong, not too few",
        "train longer: order that is not in the input cannot be learnt",
        "drop the ids where rows are left-padded or packed: the model would count padding and other samples",
    ),
    doc=DOC,
    cases=(
        Case("fires", "position ids of a batch are constant", present=("positions-not-restarted",)),
        Case(
            "healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "positions-not-restarted")
        ),
        Case(
            "look-alike",
            "packed without boundaries",
            present=("documents-not-separated",),
            absent=("positions-not-restarted",),
            expects="packing-cross-contamination",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: the position ids beside the tokens",
)
