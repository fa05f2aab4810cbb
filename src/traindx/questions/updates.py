"""How far a step moves the weights."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="updates",
    text="How large is an update against the weights (lr × gradient norm ÷ weight norm)?",
    why="About 1e-3 is usual for a layer. Far below, the rate (or the gradient) is too small; above 0.1 every "
    "step throws the weights away.",
    kind="one",
    choices=(
        Choice("healthy", "between 1e-4 and 1e-2", absent=("tiny-updates", "huge-updates"), usual=0.7),
        Choice("tiny", "below 1e-5", present=("tiny-updates",), usual=0.1),
        Choice("huge", "above 0.1", present=("huge-updates",), usual=0.1),
    ),
    seconds=60,
)
