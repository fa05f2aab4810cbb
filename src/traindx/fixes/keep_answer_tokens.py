"""Make room for the tokens to learn from."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-answer-tokens",
    title="Keep the answers in the samples",
    code="""
lengths = sorted(len(tokenizer(text)["input_ids"]) for text in texts)
max_length = lengths[int(0.99 * len(lengths))]                  # the 99 % quantile, not a guess
prompt_ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
answer_ids = tokenizer(answer + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
prompt_ids = prompt_ids[-(max_length - len(answer_ids)):]       # shorten the prompt from the left, never the answer
input_ids = prompt_ids + answer_ids
labels = [-100] * len(prompt_ids) + answer_ids
assert any(label != -100 for label in labels)
""",
    safety="caution",
    why_safe="Longer samples need more memory; attention grows with the square of the length.",
    clears=(
        "no-counted-tokens",
        "answers-cut-off",
    ),
    doc="""\
Makes room for answers and builds labels from the two parts instead of searching for a marker in the tokens of the
whole. The length comes from the data. A prompt that is too long loses its beginning; the answer is never cut.
""",
)
