"""The number that matters most."""

from __future__ import annotations

from traindx.questions.base import Question

QUESTION = Question(
    id="learning-rate",
    text="What is the learning rate (its highest value)?",
    why="Adam usually works between 1e-5 and 3e-3, SGD between 1e-3 and 0.5. Far outside, the rate itself is "
    "the suspect.",
    kind="number",
    seconds=6,
    setting="lr",
    samples={1e-08: 0.05, 1e-05: 0.1, 0.001: 0.7, 0.1: 0.1, 10.0: 0.05},
)
