"""Write training, evaluation and generation in one format."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-chat-template",
    title="Write conversations with one template",
    code="""
ids = tokenizer.apply_chat_template(messages, tokenize=True)                            # training
prompt = tokenizer.apply_chat_template(messages[:-1], add_generation_prompt=True)       # generation
# a format of your own: make it the tokenizer's, so that every tool uses it
tokenizer.chat_template = template
tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
model.resize_token_embeddings(len(tokenizer))
""",
    safety="caution",
    why_safe="A model trained in another format has to be trained again in this one.",
    clears=("template-differs",),
    doc="""\
Lets the tokenizer write training samples, evaluation and prompts, so that they agree token by token. Markers that are
added to the vocabulary need trained embeddings: with LoRA, name the embedding in `modules_to_save`.
""",
)
