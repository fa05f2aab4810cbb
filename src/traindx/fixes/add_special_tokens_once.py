"""Let the template or the tokenizer add special tokens, not both."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-special-tokens-once",
    title="Add special tokens once",
    code="""
text = tokenizer.apply_chat_template(messages, tokenize=False)
batch = tokenizer(text, add_special_tokens=False, return_tensors="pt")  # the template has written them
# or in one step
ids = tokenizer.apply_chat_template(messages, tokenize=True)
""",
    safety="safe",
    why_safe="Only a token that is there twice goes away.",
    clears=("special-tokens-doubled",),
    doc="""\
Text that a template has written holds its special tokens already: it is encoded without adding them again. Do the same
wherever prompts are encoded for generation, so that both see the same tokens.
""",
)
