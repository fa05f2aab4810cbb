"""Cause: training, evaluation and generation write conversations in different ways."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss is fine and the model answers badly or not at all when it is asked through `apply_chat_template`, a chat
server or `pipeline`. Answers begin with role names, or the model answers as the user.

## Why it happens
A chat model knows one format: which markers stand around a question, which stand before an answer. Training on
`### Instruction:` text teaches another one, while every tool that comes later uses the tokenizer's template. Three
smaller versions: `add_generation_prompt=True` is forgotten, so that generation does not begin where answers began in
training; evaluation is written without markers; markers such as `<|im_start|>` are not in the vocabulary, and become
six tokens of punctuation.

## How to tell it from its look-alikes
Print one training sample and one prompt for generation, as tokens, below each other: they must agree up to the first
token of the answer.

## How to fix it
1. Write training samples with `tokenizer.apply_chat_template(messages)`.
2. Generate from `apply_chat_template(messages, add_generation_prompt=True)`.
3. Keep your own format by setting `tokenizer.chat_template` to it, and add its markers as special tokens.

## What NOT to do
- Do not train longer.
- Do not mix formats.
- Do not trust the training loss: it belongs to the format that was trained.

## References
- Hugging Face Transformers documentation, *Chat templates*: generation prompts, training.
- Hugging Face TRL documentation, *Dataset formats*.
"""

CAUSE = Cause(
    id="template-mismatch",
    title="chat template differs",
    group="what the loss sees",
    check="print one training sample and one generation prompt as tokens: equal up to the answer",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "template-differs": "always",
        "high-initial-loss": "sometimes",
        "val-left-behind": "sometimes",
        "overfitting-gap": "rarely",
        "still-improving": "sometimes",
    },
    look_alikes={
        "double-bos": "the format is right there and one token is doubled",
        "eos-not-a-target": "generation runs on there although it is asked as in training",
        "val-preprocessing-mismatch": "inputs of validation differ by their numbers there; here by "
        "the text around them",
    },
    fixes=("use-chat-template",),
    do_not=(
        "train longer: the format that is asked for is not the one that is trained",
        "mix two formats in the data: the model learns neither well",
        "judge by the training loss: it is right for the format it was trained in",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "samples were looked at: none has the markers of the tokenizer's template",
            present=("template-differs",),
        ),
        Case("healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "template-differs")),
        Case(
            "look-alike",
            "a doubled token",
            present=("special-tokens-doubled",),
            absent=("template-differs",),
            expects="double-bos",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch and one prompt for generation: the tokens around answers",
)
