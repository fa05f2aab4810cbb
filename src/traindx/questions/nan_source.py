"""What in the code can make a NaN."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="nan-source",
    text="Which of these are in your data, model or loss?",
    why="Each of them turns a finite number into NaN or Inf by itself, at any learning rate.",
    kind="many",
    choices=(
        Choice("log", "log, sqrt or pow of something that can be 0", present=("nan-from-log",)),
        Choice("division", "a division by a count, norm or std that can be 0", present=("nan-from-division",)),
        Choice(
            "half",
            "fp16 values beyond 65504 (large logits, sums, squares)",
            present=("nan-from-half-overflow",),
            overlooked=True,
        ),
        Choice("inputs", "NaN or Inf in the inputs or targets", present=("nonfinite-inputs",)),
        Choice(
            "activations",
            "an activation turns NaN before the loss does",
            present=("nonfinite-activation",),
            overlooked=True,
        ),
        Choice("weights", "weights have become NaN", present=("nonfinite-weight",), overlooked=True),
    ),
    seconds=20,
    about=("nonfinite-loss",),
)
