"""Samples per step."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="batch-size",
    text="How many samples are in a batch?",
    why="One or two samples make steps mostly noise and break BatchNorm; thousands need a higher rate and "
    "give few updates.",
    kind="one",
    choices=(
        Choice("tiny", "1 or 2", present=("tiny-batches",), settings={"batch_size": 2}, usual=0.05),
        Choice("small", "3 to 16", absent=("tiny-batches", "huge-batches"), settings={"batch_size": 8}, usual=0.2),
        Choice("usual", "17 to 1000", absent=("tiny-batches", "huge-batches"), settings={"batch_size": 64}, usual=0.6),
        Choice(
            "huge",
            "thousands, or all data at once",
            present=("huge-batches",),
            leans={"batch-too-large": 0.8},
            settings={"batch_size": 4096},
            usual=0.1,
        ),
    ),
    seconds=5,
    setting="batch_size",
)
