"""Cause: tokens were added, and their embeddings never learn."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The loss falls and looks fine, and the model ignores the new tokens: it never writes the end-of-turn marker, mixes up
roles, or treats a new word like any other. The loss settles higher than with plain words in place of the tokens.

## Why it happens
Adding a token gives the embedding a new row, and the output matrix too. The row is random or the mean of the others,
and means nothing until it is trained. LoRA freezes the whole embedding, so that the row stays as it was made; the
adapter can only learn around it. The same happens with spare rows that a model was padded with: they are there and
were never trained.

It is announced nowhere. PEFT saves a resized embedding with the adapter, which keeps the random rows for ever.

## How to tell it from its look-alikes
Look at the rows themselves: `embed.weight[new_id]` before and after training. If they are equal, it is this. A frozen
embedding without new tokens is how adapters are meant to work. A template that differs between training and
generation also makes a model miss its markers, but there the rows move.

## How to fix it
1. `train-new-embeddings`: train the rows of the new tokens (`trainable_token_indices`), or the whole matrices
   (`modules_to_save`).
2. Take a token that the model knows in place of a new one.
3. With full fine-tuning, build the optimizer after the resize.

## What NOT to do
- Do not add epochs or rank: the rows are frozen, however long it runs.
- Do not set the new rows by hand to the mean and leave them: all new tokens then mean the same.
- Do not train the embedding and leave an untied output matrix frozen: the model cannot write them.

## References
- Hewitt, *Initializing New Word Embeddings for Pretrained Language Models*, 2021.
- PEFT documentation, *LoRA: efficiently train tokens alongside LoRA*.
- Hugging Face Transformers documentation, *resize_token_embeddings*.
"""

CAUSE = Cause(
    id="new-token-embeddings-untrained",
    title="embeddings of new tokens are not trained",
    group="which weights move",
    check="compare embed.weight[new_id] before and after training: equal if so",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        "embedding-rows-untrained": "always",
        "plateau": "often",
        "underfitting": "sometimes",
        "slow-convergence": "sometimes",
        "high-initial-loss": "sometimes",
        "still-improving": "sometimes",
        "no-gradient": "rarely",
        "divergence": "rarely",
        "loss-spike": "rarely",
        "nonfinite-loss": "never",
        "negative-loss": "never",
        "suspiciously-good": "never",
    },
    look_alikes={
        "frozen-params": "random layers are frozen there; here only rows of new tokens are",
        "vocabulary-mismatch": "the ids have no row at all, and the run dies",
        "weights-not-tied": "both matrices learn, apart from each other",
    },
    fixes=(
        "train-new-embeddings",
        "resize-embeddings",
    ),
    do_not=(
        "add epochs or rank: the rows are frozen, however long it runs",
        "set the new rows by hand to the mean and leave them: all new tokens then mean the same",
        "train the embedding and leave an untied output matrix frozen: the model cannot write them",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "two tokens added under LoRA, rows exactly as they were",
            present=(
                "embedding-rows-untrained",
                "plateau",
            ),
            absent=(
                "no-gradient",
                "nonfinite-loss",
                "divergence",
            ),
        ),
        Case(
            "healthy",
            "the embedding is among the modules to save",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "embedding-rows-untrained",
            ),
        ),
        Case(
            "look-alike",
            "random layers frozen in a training from scratch",
            present=(
                "frozen-weights",
                "unchanged-weights",
                "loss-at-chance",
            ),
            absent=("embedding-rows-untrained",),
            expects="frozen-params",
        ),
        Case("missing", "a plateau in a log", present=("plateau",), absent=()),
    ),
    log_visible=False,
    needs="which rows the batches use and whether they move (a live recording)",
)
