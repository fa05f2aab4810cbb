"""Whether validation measures the same task."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="validation-set",
    text="Which of these are true of validation?",
    why="A validation score can be wrong by itself: other preprocessing, another label table, dropout left "
    "on, or samples seen in training.",
    kind="many",
    choices=(
        Choice("no-eval", "model.eval() is not called before validating", present=("evaluated-in-train-mode",)),
        Choice(
            "inputs-differ",
            "validation inputs are prepared differently from training inputs",
            present=("val-inputs-differ",),
        ),
        Choice("labels-differ", "labels are numbered separately for validation", present=("val-labels-differ",)),
        Choice(
            "leak",
            "the same samples, users or time spans are in both sets, or scaling saw all data",
            present=("validation-seen-in-training",),
        ),
        Choice("at-chance", "validation is no better than guessing while train learns", present=("val-at-chance",)),
    ),
    seconds=15,
)
