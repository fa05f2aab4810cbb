"""Leave prompts out of the loss."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="count-answers-only",
    title="Count answers only",
    code="""
# TRL: prompt and completion, or messages with a template that has {% generation %}
args = SFTConfig(completion_only_loss=True)                     # messages: assistant_only_loss=True
# by hand
prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
answer_ids = tokenizer(answer + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
input_ids = prompt_ids + answer_ids
labels = [-100] * len(prompt_ids) + answer_ids
""",
    safety="caution",
    why_safe="The loss is a mean over other tokens: old and new numbers cannot be compared.",
    clears=("prompt-dominates-loss",),
    doc="""\
Leaves the prompt out of the labels and in the input. The loss will start and end higher, since the easy tokens of
templates and instructions no longer count.
""",
)
