"""Numbers of how many bits."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="precision",
    text="In which precision does it train?",
    why="Half precision is behind almost every second NaN that people report; pure bf16 or fp16 weights lose "
    "small updates. In fp32 both are out of the question.",
    kind="one",
    choices=(
        Choice(
            "fp32",
            "fp32, the default",
            leans={"low-precision-update-lost": -2.0},
            settings={"precision": "fp32", "fp16": False},
            usual=0.6,
        ),
        Choice("scaled", "fp16 with autocast and GradScaler", settings={"fp16": True}, usual=0.15),
        Choice(
            "unscaled",
            "fp16 without GradScaler, or model.half()",
            leans={"fp16-overflow": 1.5, "low-precision-update-lost": 0.8},
            settings={"fp16": True},
            usual=0.05,
        ),
        Choice(
            "falling",
            "fp16, and the loss scale keeps falling",
            present=("loss-scale-collapse",),
            settings={"fp16": True},
            usual=0.02,
        ),
        Choice("bf16", "bf16 autocast", settings={"precision": "bf16", "fp16": False}, usual=0.15),
        Choice(
            "pure-bf16",
            "the weights themselves are bf16 or fp16",
            present=("updates-lost-to-rounding",),
            leans={"low-precision-update-lost": 0.5},
            settings={"precision": "bf16"},
            usual=0.04,
        ),
    ),
    seconds=8,
    setting="fp16",
)
