"""What several processes may disagree about."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="distributed",
    text="Which of these are true of distributed training?",
    why="Ranks that see the same data waste all but one; ranks that drift apart train different models; the "
    "slowest one sets the pace.",
    kind="many",
    choices=(
        Choice("same-data", "no DistributedSampler: every rank sees the same data", present=("same-data-on-ranks",)),
        Choice(
            "differ",
            "losses or weights differ between ranks that should agree",
            present=("replica-mismatch",),
            overlooked=True,
        ),
        Choice("slow-rank", "one rank is slower than the others", present=("slow-rank",)),
    ),
    seconds=10,
)
