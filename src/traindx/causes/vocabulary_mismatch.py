"""Cause: tokenizer and embedding have different vocabularies."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE

DOC = """\
## What you see
The run dies with `index out of range in self` or a device-side assert in an indexing kernel, at the first batch or
after hours, when a rare token comes up. Or it runs, the first loss is far above ln(vocabulary), and the model answers
with nonsense.

## Why it happens
Token ids are row numbers. Tokens that were added have ids behind the last row until the embedding is resized. The
tokenizer of another model gives ids that exist and mean something else. On a GPU the index is not checked where it
happens: the error is reported later, at another line.

## How to tell it from its look-alikes
Compare `len(tokenizer)` with `model.get_input_embeddings().weight.shape[0]`. More rows than tokens are usual, because
sizes are rounded up. Labels out of range of the output give a similar error, but in the loss. A run that dies of
memory says so.

## How to fix it
1. `resize-embeddings`: load the tokenizer that belongs to the model, and resize after adding tokens.
2. Run once with `CUDA_LAUNCH_BLOCKING=1` or on the CPU to see the line.

## What NOT to do
- Do not clip the ids to the table: another token would be trained in its place.
- Do not shrink the embedding to the length of the tokenizer: padded sizes are there on purpose.
- Do not catch the error and go on: after a device-side assert nothing on the GPU can be used.

## References
- Hugging Face Transformers documentation, *resize_token_embeddings*.
- PyTorch documentation, *torch.nn.functional.embedding*.
"""

CAUSE = Cause(
    id="vocabulary-mismatch",
    title="tokenizer and embedding do not match",
    group="what the loss sees",
    check="compare len(tokenizer) with model.get_input_embeddings().weight.shape[0]: not larger",
    prior="rare",
    predicts={
        "ids-beyond-embedding": "always",
        "run-died": "sometimes",
        "truncated": "sometimes",
        "high-initial-loss": "sometimes",
        "too-short": "sometimes",
        "divergence": "rarely",
        "nonfinite-loss": "rarely",
        "suspiciously-good": "never",
        "negative-loss": "never",
    },
    look_alikes={
        "new-token-embeddings-untrained": "the rows are there and never learn; here they are missing",
        "label-encoding-wrong": "the labels are out of range, not the inputs",
    },
    fixes=("resize-embeddings",),
    do_not=(
        "clip the ids to the table: another token would be trained in its place",
        "shrink the embedding to the length of the tokenizer: padded sizes are there on purpose",
        "catch the error and go on: after a device-side assert nothing on the GPU can be used",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "the run dies on an id without a row",
            present=(
                "ids-beyond-embedding",
                "run-died",
            ),
            absent=(
                "nonfinite-loss",
                "divergence",
            ),
        ),
        Case(
            "healthy",
            "more rows than tokens",
            present=(),
            absent=(
                *CALM_CURVES,
                *CALM_INSIDE,
                "ids-beyond-embedding",
            ),
        ),
        Case(
            "look-alike",
            "tokens added under LoRA",
            present=("embedding-rows-untrained",),
            absent=("ids-beyond-embedding",),
            expects="new-token-embeddings-untrained",
        ),
        Case("missing", "the run died", present=("run-died",), absent=()),
    ),
    log_visible=False,
    needs="the error, or the lengths of tokenizer and embedding (a live recording)",
)
