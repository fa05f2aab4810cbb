"""Cause: nothing teaches the model to stop."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss falls as it should, answers are good, and generation does not stop: it repeats itself, goes on with a new
question, or fills `max_new_tokens`. Nothing in the curves shows it.

## Why it happens
A model stops by predicting the end-of-sequence token. It learns that only where this token is a target that counts.
Two habits take it away. `tokenizer.pad_token = tokenizer.eos_token` gives padding and end one number; a collator that
sets every pad token of the labels to -100 (`DataCollatorForLanguageModeling` does) masks the real end with it. Or the
end is never in the data: texts are written by hand without `eos_token`, and most tokenizers of decoder models do not
add one.

## How to tell it from its look-alikes
Look at the labels of the last token of an answer: it must be the end token and not -100. With answers that are cut off
by `max_length` some ends are missing, not all. A model that was trained right and is asked in another format than it
was trained in also runs on: there the ends do count.

## How to fix it
1. Give padding a token of its own (`tokenizer.add_special_tokens({"pad_token": "<|pad|>"})`, then
   `model.resize_token_embeddings(len(tokenizer))`), or one that the texts never use, such as `unk_token`.
2. End every answer with `tokenizer.eos_token`, or with the template's end of turn.
3. Mask labels by the attention mask, not by the number of the pad token.

## What NOT to do
- Do not only set `stop_strings`: the model spends probability on going on.
- Do not train longer: what is masked is never learnt.
- Do not count all padding instead.

## References
- Hugging Face Transformers documentation, *DataCollatorForLanguageModeling* and *Padding and truncation*.
- Hugging Face TRL documentation, *SFTTrainer*: `eos_token`, `pad_token`.
"""

CAUSE = Cause(
    id="eos-not-a-target",
    title="end-of-sequence is not a target",
    group="what the loss sees",
    check="print the labels of the last tokens of one answer: the end token must be there, not -100",
    prior="occasional",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "eos-never-counted": "always",
        "still-improving": "sometimes",
    },
    look_alikes={
        "no-target-tokens": "whole answers are missing from the loss there; here only their end is",
        "template-mismatch": "generation that is asked in another format than training rambles too, "
        "although ends were counted",
        "healthy": "the loss curve is the same with and without ends: only generation, or a look at the labels, tells",
    },
    fixes=("count-end-tokens",),
    do_not=(
        "set a stop string or a lower max_new_tokens and call it solved: the model still does not "
        "know where an answer ends",
        "train longer: ends that never count are never learnt",
        "unmask all padding to bring the end back: hundreds of pad tokens would then dominate the loss",
    ),
    doc=DOC,
    cases=(
        Case("fires", "labels of a batch were looked at: ends are masked", present=("eos-never-counted",)),
        Case("healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "eos-never-counted")),
        Case(
            "look-alike",
            "samples without any counted token",
            present=("no-counted-tokens",),
            absent=("eos-never-counted",),
            expects="no-target-tokens",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: the label of the token behind each answer",
)
