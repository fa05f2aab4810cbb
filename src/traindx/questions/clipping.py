"""Whether gradients are cut."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="clipping",
    text="Are gradients clipped?",
    why="Without clipping one bad batch can undo hours; with a limit far below the usual norm every step is "
    "only a direction.",
    kind="one",
    choices=(
        Choice("no", "no", leans={"grad-clip-missing": 0.5, "grad-clip-too-tight": -2.5}, usual=0.5),
        Choice("usual", "yes, at about 0.5 to 10", absent=("clipped-hard",), settings={"clip": 1.0}, usual=0.4),
        Choice(
            "tight",
            "yes, far below the usual norm (0.01, say)",
            present=("clipped-hard",),
            settings={"clip": 0.01},
            usual=0.05,
        ),
    ),
    seconds=6,
    setting="clip",
)
