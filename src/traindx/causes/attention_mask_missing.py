"""Cause: the model attends to padding, because no attention mask reaches it."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss falls and ends a little higher than it should; outputs change with the size of the batch or with the samples
that share it. Transformers may warn that the attention mask and the pad token id were not set.

## Why it happens
A batch of texts of different lengths is filled up with pad tokens. A causal model reads from left to right: padding
before a text is read like words unless a mask hides it. The mask is easily lost: a collator that returns ids alone,
`model(input_ids, labels=labels)`, or a mask of ones that somebody made from the shape.

## How to tell it from its look-alikes
Call the model on one sample alone and in a padded batch: the logits must agree. Padding that counts in the loss is
another fault (`padding-not-masked`): there the labels are wrong, here the inputs. Prompts for `generate` that are
padded on the right are a third one.

## How to fix it
1. `pass-attention-mask`: give the mask of the tokenizer to the model.
2. Pad on the right for training.

## What NOT to do
- Do not pad everything to one length: the padding is read all the same.
- Do not set the pad token to end-of-sequence to be rid of a warning.
- Do not train longer.

## References
- Hugging Face Transformers documentation, *Padding and truncation*, and *Attention mask* in the glossary.
"""

CAUSE = Cause(
    id="attention-mask-missing",
    title="padding is attended to: the attention mask is missing",
    group="what the loss sees",
    check="call the model on one sample alone and in a padded batch: the outputs must agree",
    prior="rare",
    doc=DOC,
    predicts={
        "outcome-poor": "sometimes",
        **LEARNING_UNAFFECTED,
        "padding-attended": "always",
        "high-initial-loss": "sometimes",
        "still-improving": "sometimes",
        "plateau": "sometimes",
    },
    look_alikes={
        "padding-not-masked": "padding counts in the loss there; here it is read as input",
        "generation-right-padded": "only what is generated is wrong there, and training is right",
        "position-ids-wrong": "positions do not begin with the text there, whatever is hidden",
    },
    fixes=("pass-attention-mask",),
    do_not=(
        "pad everything to one length: the padding is read all the same",
        "set the pad token to end-of-sequence to be rid of the warning: the mask is still missing",
        "train longer: the model learns to live with noise before every text",
    ),
    cases=(
        Case("fires", "another token in the padding changes a sample's outputs", present=("padding-attended",)),
        Case("healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "padding-attended")),
        Case(
            "look-alike",
            "padding counts",
            present=("padding-in-loss",),
            absent=("padding-attended",),
            expects="padding-not-masked",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one padded batch: the outputs of a sample with another token in its padding",
)
