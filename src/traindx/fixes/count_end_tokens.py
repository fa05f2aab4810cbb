"""Give the end of an answer a target."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="count-end-tokens",
    title="Count the end of every answer",
    code="""
if tokenizer.pad_token is None or tokenizer.pad_token == tokenizer.eos_token:
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})      # padding gets a number of its own
    model.resize_token_embeddings(len(tokenizer))
text = prompt + answer + tokenizer.eos_token                    # every answer ends
labels = input_ids.masked_fill(attention_mask == 0, -100)       # mask by the attention mask, not by pad_token_id
""",
    safety="caution",
    why_safe="A new token adds one row to the embedding; save model and tokenizer together.",
    clears=("eos-never-counted",),
    doc="""\
Makes the end-of-sequence token a target that counts. Where padding and end share one number, padding gets its own;
labels are masked where the attention mask is 0, so that a real end stays. Check it on one batch: the last label of a
sample is `tokenizer.eos_token_id`, and not -100.
""",
)
