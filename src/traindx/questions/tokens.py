"""What only sequence models get wrong."""

from __future__ import annotations

from traindx.questions.base import Choice, Question

QUESTION = Question(
    id="tokens",
    text="Which of these are true of the sequence model?",
    why="A loss near zero within minutes means that the model reads its own answer; one that stays high may "
    "count padding or predict the token it was given.",
    kind="many",
    choices=(
        Choice("no-mask", "no causal mask in attention", present=("sees-the-future", "suspiciously-good")),
        Choice(
            "not-shifted",
            "targets are the same tokens as the inputs, not the next ones",
            present=("targets-not-next-token",),
        ),
        Choice(
            "attends-padding",
            "padded batches go into the model without an attention mask",
            present=("padding-attended",),
        ),
        Choice("padding", "padding counts in the loss (no ignore_index)", present=("padding-in-loss",)),
        Choice(
            "untied",
            "input and output embeddings should be one matrix and are two",
            present=("tied-weights-apart",),
            overlooked=True,
        ),
        Choice(
            "adapter", "LoRA or another adapter whose weights stay zero", present=("adapter-at-zero",), overlooked=True
        ),
    ),
    seconds=15,
)
