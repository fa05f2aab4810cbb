"""The thirty-second test: one batch, again and again."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="single-batch",
    text="Can it learn a single batch by heart (train on the same batch 200 times)?",
    why="A sound model and loss get any single batch to nearly zero. If yours does not, the fault is in "
    "model, loss or rate, and no data will help; if it does, look at data, schedule and regularisation.",
    kind="one",
    choices=(
        Choice(
            "yes",
            "yes, the loss goes to nearly zero",
            absent=("batch-not-learned", "batch-barely-moves", "batch-diverges", "samples-mixed"),
            usual=0.6,
        ),
        Choice("barely", "it barely moves", present=("batch-barely-moves",), usual=0.1),
        Choice("stuck", "it falls and gets stuck high", present=("batch-not-learned",), usual=0.15),
        Choice("diverges", "it diverges or becomes NaN", present=("batch-diverges",), usual=0.1),
    ),
    seconds=120,
)
