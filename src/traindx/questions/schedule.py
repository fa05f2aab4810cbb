"""What the learning rate does over time."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="schedule",
    text="What does the learning rate do over the run?",
    why="A constant rate ends in a noisy plateau; one that reaches zero early freezes the model; without a "
    "warm-up large models blow up in their first steps.",
    kind="one",
    choices=(
        Choice(
            "constant",
            "it is constant",
            leans={"lr-decay-missing": 0.7, "warmup-missing": 0.4, "lr-decayed-too-early": -2.5},
            usual=0.4,
        ),
        Choice(
            "decays",
            "it decays over the whole run, no warm-up",
            leans={"lr-decay-missing": -2.0, "warmup-missing": 0.3, "lr-decayed-too-early": -1.0},
            usual=0.25,
        ),
        Choice(
            "warmup",
            "it warms up, then decays over the run",
            leans={"lr-decay-missing": -2.0, "warmup-missing": -2.5, "lr-decayed-too-early": -1.0},
            settings={"warmup": 1},
            usual=0.25,
        ),
        Choice(
            "dies",
            "it is nearly zero long before the end, or jumps",
            present=("lr-schedule-anomaly",),
            leans={"lr-decayed-too-early": 0.8, "lr-decay-missing": -2.0},
            usual=0.05,
        ),
    ),
    seconds=8,
)
