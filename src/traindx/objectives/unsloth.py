"""The table that the Trainer shows in notebooks, as unsloth users paste it."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="unsloth",
    title="unsloth or a notebook's Trainer table",
    task="supervised",
    signs=(("training loss",), ("unsloth/loss", "unsloth/num_input_tokens_seen")),
    series={
        "training loss": base.LOSS,
        "validation loss": base.VAL_LOSS,
        "unsloth/loss": base.LOSS,
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
    },
    objective=("training loss", "unsloth/loss", "loss"),
    normal=("Fine-tuning begins at a low loss and soon stands still; a fall by a third is usual.",),
    example={"step": 10, "Training Loss": 1.2},
    sources=("https://docs.unsloth.ai/",),
)
