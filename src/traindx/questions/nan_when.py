"""When the NaN came."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="nan-when",
    text="When did the NaN appear?",
    why="In the first steps nothing can have grown yet: data, precision, initialisation. After a rise it is "
    "instability. Out of the blue it is a single operation: log(0), a division, an overflow, a broken "
    "sample.",
    kind="one",
    choices=(
        Choice(
            "never",
            "there is no NaN",
            absent=("nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "nonfinite-activation"),
            usual=0.8,
        ),
        Choice(
            "first-steps",
            "in the first few steps",
            present=("nonfinite-loss",),
            leans={
                "nan-in-data": 0.9,
                "init-too-large": 0.7,
                "fp16-overflow": 0.5,
                "warmup-missing": 0.3,
                "label-encoding-wrong": 0.4,
                "exploding-gradients": -0.5,
            },
            usual=0.05,
        ),
        Choice(
            "after-growth",
            "after loss or gradients had grown",
            present=("nonfinite-loss", "nan-from-growth"),
            leans={"lr-too-high": 0.5, "grad-clip-missing": 0.4, "nan-in-data": -0.8},
            usual=0.05,
        ),
        Choice(
            "calm",
            "all of a sudden, everything was calm before",
            present=("nonfinite-loss",),
            leans={
                "fp16-overflow": 0.5,
                "log-of-zero": 0.6,
                "division-by-zero": 0.6,
                "corrupt-samples": 0.4,
                "nan-in-data": 0.4,
                "lr-too-high": -0.8,
                "exploding-gradients": -0.8,
            },
            usual=0.05,
        ),
    ),
    seconds=8,
    about=("nonfinite-loss",),
)
