"""What the loss does when the rate changes."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="rate-reaction",
    text="What happens when you change the learning rate by ten?",
    why="The quickest test there is: if a lower rate calms it or a higher one speeds it up, the rate was "
    "wrong; if nothing changes, look elsewhere.",
    kind="one",
    choices=(
        Choice(
            "lower-helps",
            "ten times lower: calmer and better",
            present=("lr-above-stable",),
            leans={"lr-too-high": 0.5},
            usual=0.15,
        ),
        Choice(
            "higher-helps",
            "ten times higher: faster and better",
            present=("lr-below-useful",),
            leans={"lr-too-low": 0.5},
            usual=0.1,
        ),
        Choice(
            "no-difference",
            "it makes no difference",
            absent=("lr-above-stable", "lr-below-useful"),
            leans={"lr-too-high": -1.0, "lr-too-low": -1.0},
            usual=0.5,
        ),
    ),
    seconds=90,
)
