"""Cause: the template and the tokenizer both put a begin-of-sequence token."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
A fine-tuned model is a little worse than it should be, or much worse at short prompts; training and generation differ
by one token. llama.cpp and vLLM warn of a prompt with two BOS tokens.

## Why it happens
`tokenizer.apply_chat_template(..., tokenize=False)` gives a text that already begins with the token. Encoding that text
with `tokenizer(text)` adds it again. Pretraining never showed two of them in a row, so that the first positions, on
which attention rests much weight, are off from what the model knows.

## How to tell it from its look-alikes
Print the first three ids of a sample. Nothing else shows it.

## How to fix it
1. `tokenizer(text, add_special_tokens=False)` for text that a template has written.
2. Or `apply_chat_template(messages, tokenize=True)` in one step.

## What NOT to do
- Do not change the tokenizer's vocabulary.
- Do not fix training alone: generation must be given the same tokens.

## References
- Hugging Face Transformers documentation, *Chat templates*: tokenizing a rendered template adds special tokens twice.
"""

CAUSE = Cause(
    id="double-bos",
    title="begin-of-sequence added twice",
    group="what the loss sees",
    check="print the first three token ids of one sample: the begin token must stand there once",
    prior="rare",
    predicts={
        "outcome-poor": "sometimes",
        **LEARNING_UNAFFECTED,
        "special-tokens-doubled": "always",
        "high-initial-loss": "sometimes",
        "still-improving": "sometimes",
    },
    look_alikes={
        "template-mismatch": "the format itself is another one there, not a token too many",
        "healthy": "a training from random weights learns with any first token; a pretrained model "
        "never saw two of them",
    },
    fixes=("add-special-tokens-once",),
    do_not=(
        "remove the token from the vocabulary: the model was pretrained with it",
        "keep it in training and drop it in generation: the two must be the same",
        "tune the learning rate for the worse start: the input is at fault",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires", "the first two tokens of every sample are begin-of-sequence", present=("special-tokens-doubled",)
        ),
        Case(
            "healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "special-tokens-doubled")
        ),
        Case(
            "look-alike",
            "samples in another format than the template's",
            present=("template-differs",),
            absent=("special-tokens-doubled",),
            expects="template-mismatch",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: the first two tokens of each sample",
)
