"""The size of the gradient."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="gradient-norm",
    text="What is the gradient norm (what clip_grad_norm_ returns, or from your logger)?",
    why="Healthy norms lie between about 0.1 and 10 and layers within a factor of 100 of each other. A "
    "plateau with healthy gradients is one of the learning rate; without them it is one of the flow.",
    kind="one",
    choices=(
        Choice(
            "healthy",
            "between 0.1 and 10, all layers alike",
            absent=("vanishing-gradients", "exploding-gradients", "no-gradient", "nonfinite-gradient"),
            usual=0.6,
        ),
        Choice("tiny", "below 0.01, or much smaller in the first layers", present=("vanishing-gradients",), usual=0.1),
        Choice("huge", "above 100, or growing", present=("exploding-gradients",), usual=0.1),
        Choice("none", "None or exactly 0 for some parameters", present=("no-gradient",), usual=0.05),
        Choice("nan", "NaN or Inf", present=("nonfinite-gradient",), usual=0.05),
    ),
    seconds=30,
)
