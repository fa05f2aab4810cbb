"""How train and validation parted."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="gap-course",
    text="How did train and validation part?",
    why="Memorising takes time: validation is good first and worsens later. A gap from the first evaluation "
    "on means that the two are not the same task.",
    kind="one",
    choices=(
        Choice(
            "no-gap",
            "they did not; both go together",
            absent=("overfitting-gap", "val-left-behind", "val-at-chance"),
            usual=0.6,
        ),
        Choice(
            "turned",
            "validation improved, then got worse",
            present=("overfitting-gap",),
            leans={"overfitting": 0.8, "val-preprocessing-mismatch": -1.2, "train-val-label-mismatch": -1.2},
            usual=0.1,
        ),
        Choice(
            "from-start",
            "validation was bad from the first epoch",
            present=("val-left-behind", "val-at-chance"),
            leans={"overfitting": -0.8},
            usual=0.08,
        ),
        Choice(
            "at-chance",
            "validation is no better than guessing while train learns",
            present=("val-at-chance",),
            usual=0.03,
        ),
        Choice("left-behind", "validation stopped early while train went on", present=("val-left-behind",), usual=0.1),
        Choice("scatters", "it scatters around a constant level", present=("val-noisy",), usual=0.1),
        Choice("came-back", "it worsened and later improved again", present=("double-descent",), usual=0.02),
    ),
    seconds=10,
    about=("overfitting-gap", "val-noisy", "val-spike", "suspiciously-good"),
)
