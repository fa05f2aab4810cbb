"""How far the run went."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="run-length",
    text="How long did it train?",
    why="A curve that still falls is not finished; one of a few hundred updates has hardly begun. More epochs "
    "of a flat curve change nothing.",
    kind="one",
    choices=(
        Choice(
            "few", "a few hundred updates or less", present=("few-updates",), leans={"too-few-epochs": 0.8}, usual=0.1
        ),
        Choice(
            "falling",
            "longer, and it was still falling at the end",
            present=("still-improving",),
            leans={"too-few-epochs": 0.8},
            usual=0.2,
        ),
        Choice(
            "long",
            "long past the point where anything changed",
            absent=("still-improving", "few-updates"),
            leans={"too-few-epochs": -2.0},
            usual=0.5,
        ),
        Choice("killed", "it was killed before its end", present=("truncated",), usual=0.1),
    ),
    seconds=6,
)
