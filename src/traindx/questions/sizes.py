"""Model against data."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="sizes",
    text="How large is the model against the data?",
    why="Many parameters on few samples memorise; a handful of parameters cannot follow the data however long "
    "they train.",
    kind="one",
    choices=(
        Choice(
            "large",
            "far more parameters than samples (100 times and more)",
            leans={"overfitting": 0.9, "model-too-small": -2.0},
            usual=0.35,
        ),
        Choice("comparable", "neither of the two", usual=0.5),
        Choice(
            "small",
            "tiny: a few hundred to a thousand parameters",
            leans={"model-too-small": 2.0, "overfitting": -1.5},
            usual=0.08,
        ),
    ),
    seconds=8,
)
