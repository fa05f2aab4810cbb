"""Continue prompts, not padding."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="pad-left-for-generation",
    title="Pad prompts on the left",
    code="""
tokenizer.padding_side = "left"                                 # for generation; training stays as it is
batch = tokenizer(prompts, padding=True, return_tensors="pt").to(model.device)
output = model.generate(**batch, max_new_tokens=128)            # input_ids and attention_mask
answers = tokenizer.batch_decode(output[:, batch["input_ids"].shape[1]:], skip_special_tokens=True)
""",
    safety="safe",
    why_safe="Nothing that is trained changes.",
    clears=("padding-on-the-wrong-side",),
    doc="""\
Puts padding before prompts, so that each is continued where it ends. A second tokenizer object for generation keeps the
side of the training.
""",
)
