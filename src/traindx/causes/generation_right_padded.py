"""Cause: a decoder continues padding instead of the prompt."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
Scores from generation are far below what single prompts show, and depend on the batch size. Short prompts of a batch
get empty or odd answers; the longest one is fine. transformers warns that right-padding was detected.

## Why it happens
A decoder predicts what comes after the last position. With padding on the right the last position of a short prompt
is a pad token, and the model continues that.

## How to tell it from its look-alikes
Generate for one prompt alone and in a batch: the answers must be equal. If the single one is bad too, the cause is
another.

## How to fix it
1. `tokenizer.padding_side = "left"` where prompts are encoded for generation, with the attention mask given.
2. Leave training as it is.

## What NOT to do
- Do not change the side for training.
- Do not retrain: the weights were never wrong.

## References
- Hugging Face Transformers documentation, *Text generation*: padding side.
"""

CAUSE = Cause(
    id="generation-right-padded",
    title="prompts for generation padded on the right",
    group="what the loss sees",
    check="generate for one prompt alone and in a batch: the answers must be equal",
    prior="rare",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "padding-on-the-wrong-side": "always",
        "val-noisy": "sometimes",
        "still-improving": "sometimes",
    },
    look_alikes={
        "eos-not-a-target": "single prompts run on there as well; here only batches of unequal length are bad",
        "template-mismatch": "every prompt is bad there, whatever batch it is in",
    },
    fixes=("pad-left-for-generation",),
    do_not=(
        "train with left padding instead: training is right with either side",
        "lower the batch size of evaluation to 1 and call it a model problem: it hides the padding, not the cause",
        "retrain: the weights are fine",
    ),
    doc=DOC,
    cases=(
        Case("fires", "prompts given to generate end in padding", present=("padding-on-the-wrong-side",)),
        Case(
            "healthy",
            "every check of the batch passes",
            absent=(*CALM_CURVES, *CALM_INSIDE, "padding-on-the-wrong-side"),
        ),
        Case(
            "look-alike",
            "ends are masked",
            present=("eos-never-counted",),
            absent=("padding-on-the-wrong-side",),
            expects="eos-not-a-target",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one call of generate: the attention mask of its prompts",
)
