"""Give the model the attention mask that belongs to its batch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="pass-attention-mask",
    title="Pass the attention mask",
    code="""
batch = tokenizer(texts, padding=True, return_tensors="pt")
outputs = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels)
# for training, padding on the right needs no mask in a causal model
tokenizer.padding_side = "right"
""",
    safety="safe",
    why_safe="Padding carries no information: hiding it takes nothing away.",
    clears=("padding-attended",),
    doc="""\
Pass `attention_mask` wherever `input_ids` go, and let the collator make both. With padding on the left, position ids
have to begin at the first token, too: transformers derives them from the mask for some models only
(`position_ids = attention_mask.cumsum(-1) - 1`). For training alone, pad on the right.
""",
)
