"""New tokens need rows that learn."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="train-new-embeddings",
    title="Train the embeddings of the new tokens with the adapter",
    code="""
model.resize_token_embeddings(len(tokenizer))
new = list(range(rows_before, len(tokenizer)))  # rows_before: the length before tokens were added
config = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", trainable_token_indices=new)
# or, with more memory: modules_to_save=["embed_tokens", "lm_head"]
model = get_peft_model(model, config)
""",
    safety="safe",
    why_safe="Only rows that nobody has trained yet begin to learn.",
    clears=("embedding-rows-untrained",),
    doc="""\
`trainable_token_indices` trains the rows of these tokens alone and costs next to nothing. `modules_to_save` keeps a
trained copy of the whole embedding and of the output matrix, which for a vocabulary of 128k and a width of 4096 is 1
GB each in half precision. Where the model ties the two, both follow. Where a token of the vocabulary does the same
job (reserved or unused tokens), taking that one needs no resize at all, but its row must be trained just the same.
""",
)
