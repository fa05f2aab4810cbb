"""Cause: most of what the loss counts is the prompt."""

from __future__ import annotations

from traindx.causes.base import Case, Cause
from traindx.causes.calm import CALM_CURVES, CALM_INSIDE
from traindx.causes.unaffected import LEARNING_UNAFFECTED

DOC = """\
## What you see
The loss falls and ends low, since templates and repeated instructions are easy; answers improve slowly. The model
writes questions of its own, or repeats the instruction.

## Why it happens
`labels = input_ids` asks the model to predict every token, the question too. With a prompt of 300 tokens and an answer
of 20, 94 % of the gradient is about questions. What a model learns about answers is what is left.

## How to tell it from its look-alikes
Count: the share of prompt tokens among the labels that are not -100. Where answers are long, counting prompts is
harmless and may even help with few samples (Shi et al. 2024). Padding that counts shows as runs of one token.

## How to fix it
1. TRL: `SFTConfig(completion_only_loss=True)` with prompt and completion, `assistant_only_loss=True` with messages
and a    template that has `{% generation %}`.
2. By hand: -100 for every token of the prompt.

## What NOT to do
- Do not raise the rate.
- Do not compare losses with and without prompts.
- Do not remove the prompt from the input: only from the labels.

## References
- Hugging Face TRL documentation, *SFTTrainer*: train on completion only, train on assistant messages only.
- Shi et al., *Instruction Tuning With Loss Over Instructions*, 2024.
"""

CAUSE = Cause(
    id="prompt-in-loss",
    title="prompts counted in the loss",
    group="what the loss sees",
    check="print the tokens of one sample whose label is not -100: the answer alone should count",
    prior="occasional",
    predicts={
        "outcome-poor": "often",
        **LEARNING_UNAFFECTED,
        "prompt-dominates-loss": "always",
        "still-improving": "sometimes",
        "slow-convergence": "sometimes",
        "plateau": "sometimes",
        "overfitting-gap": "rarely",
    },
    look_alikes={
        "healthy": "with answers longer than prompts, counting both is a choice that hardly changes the result",
        "padding-not-masked": "the tokens that should not count are padding there",
        "template-mismatch": "the format is wrong there, whatever counts",
    },
    fixes=("count-answers-only",),
    do_not=(
        "raise the learning rate against slow progress on answers: their share of the gradient is "
        "small, not their size",
        "compare the loss with that of a run that counts answers only: they are means over other tokens",
        "shorten answers or drop prompts: the labels are at fault, not the data",
    ),
    doc=DOC,
    cases=(
        Case(
            "fires",
            "labels of a batch were looked at: nine of ten that count are prompts",
            present=("prompt-dominates-loss",),
        ),
        Case(
            "healthy", "every check of the batch passes", absent=(*CALM_CURVES, *CALM_INSIDE, "prompt-dominates-loss")
        ),
        Case(
            "look-alike",
            "padding counts",
            present=("padding-in-loss",),
            absent=("prompt-dominates-loss",),
            expects="padding-not-masked",
        ),
        Case("missing", "only a loss curve", present=("still-improving",)),
    ),
    log_visible=False,
    needs="one batch: the share of prompt tokens among the labels that count",
)
