"""As many rows as tokens."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="resize-embeddings",
    title="Give the model the tokenizer's vocabulary",
    code="""
tokenizer = AutoTokenizer.from_pretrained(name)  # the tokenizer that belongs to the model
print(len(tokenizer), model.get_input_embeddings().weight.shape[0])
if len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
    model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=8)
""",
    safety="caution",
    why_safe="Adds rows; those that are there stay as they are. The new ones must be trained.",
    clears=(
        "ids-beyond-embedding",
        "run-died",
    ),
    doc="""\
Resize after the last token was added and before the optimiser is built, because it makes new parameters. Never shrink
a table to the length of the tokenizer: models are padded to round sizes on purpose. If the lengths are far apart, the
tokenizer is that of another model, and a resize would only hide it.
""",
)
