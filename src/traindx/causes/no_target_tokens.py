"""Cause: labels are ignored or answers are cut off, so that little or nothing counts."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss is 0.0 or NaN from the first step or in some batches, or falls far more slowly than it should; or all looks
well and long answers stay bad. TRL warns of a response template that it did not find, or drops fully masked samples.

## Why it happens
Only targets that are not -100 teach anything. They get lost in three ways. `max_length` cuts from the right, and a
long prompt fills it: the answer is gone, or its end is. A collator masks everything before a marker such as
`### Response:`; where the tokens of that marker in context are others than those of the marker alone, it is never
found and everything is masked. Or a chat template without `{% generation %}` is asked for assistant tokens and marks
none.

## How to tell it from its look-alikes
Count the labels: `(labels != -100).sum(1)` of one batch has zeros. A division by zero elsewhere shows labels that
count. An end token alone that is missing is `eos-not-a-target`.

## How to fix it
1. Raise `max_length` above the longest sample (look at the 99 % quantile of the lengths), or shorten prompts from the
   left.
2. Give the collator the token ids of the marker as they stand in a sample, or use a data set with prompt and
   completion.
3. Leave out samples that have no target.

## What NOT to do
- Do not replace NaN by 0: the cause stays.
- Do not change the learning rate.
- Do not compare average losses before and after: they are over other tokens.

## References
- Hugging Face TRL documentation, *SFTTrainer*: `max_length`, `completion_only_loss`, `assistant_only_loss`.
- PyTorch documentation, *CrossEntropyLoss*: a mean over no targets is NaN.
"""

CAUSE = Cause(
    id="no-target-tokens",
    title="no tokens left to learn from",
    group="what the loss sees",
    check="print (labels != -100).sum(1) of one batch: there must be no zero",
    prior="occasional",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "no-counted-tokens": "usually",
        "answers-cut-off": "often",
        "nonfinite-loss": "sometimes",
        "flat-from-start": "sometimes",
        "loss-at-chance": "sometimes",
        "nonfinite-gradient": "sometimes",
        "slow-convergence": "sometimes",
        "no-gradient": "sometimes",
        "unchanged-weights": "sometimes",
        "tiny-updates": "sometimes",
        "vanishing-gradients": "sometimes",
        "suspiciously-good": "sometimes",
        "plateau": "sometimes",
        "val-noisy": "sometimes",
        "oscillation": "rarely",
        "nan-from-division": "sometimes",
    },
    look_alikes={
        "eos-not-a-target": "answers count there, and only their last token does not",
        "division-by-zero": "the mean of a batch without targets is 0/0, too; counting labels tells "
        "where it comes from",
        "prompt-in-loss": "too many tokens count there, here too few",
    },
    fixes=("keep-answer-tokens",),
    do_not=(
        "guard the NaN with nan_to_num and go on: the samples still teach nothing",
        "lower the learning rate: a loss over no tokens has no gradient at any rate",
        "judge by the average loss: samples without targets do not appear in it",
    ),
    doc=DOC,
    cases=(
        Case("fires", "labels of a batch were looked at: most samples have none", present=("no-counted-tokens",)),
        Case("healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "no-counted-tokens")),
        Case(
            "look-alike",
            "ends are masked",
            present=("eos-never-counted",),
            absent=("no-counted-tokens",),
            expects="eos-not-a-target",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: the number of labels that are not -100 in each sample",
)
