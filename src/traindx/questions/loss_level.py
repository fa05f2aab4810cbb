"""Where the loss stands against what guessing gives."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="loss-level",
    text="What does the loss stand at now?",
    why="A loss of ln(number of classes), 2.30 for ten, is what guessing gives: nothing has been learned. A "
    "first loss far above it points to the initialisation, the inputs or the loss itself; a negative one "
    "to its sign.",
    kind="one",
    choices=(
        Choice(
            "chance",
            "at chance: about ln(number of classes), or the variance of the targets",
            present=("loss-at-chance",),
            usual=0.15,
        ),
        Choice("far-above", "far above chance, from the very first step", present=("high-initial-loss",), usual=0.08),
        Choice("negative", "below zero, although it should not be", present=("negative-loss",), usual=0.02),
        Choice(
            "low",
            "near zero",
            absent=("loss-at-chance", "underfitting", "high-initial-loss", "negative-loss"),
            usual=0.25,
        ),
        Choice(
            "between",
            "below chance, above zero",
            absent=("loss-at-chance", "high-initial-loss", "negative-loss"),
            usual=0.5,
        ),
    ),
    seconds=15,
)
