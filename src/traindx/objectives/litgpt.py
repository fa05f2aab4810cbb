"""litgpt's pretraining and fine-tuning lines."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="litgpt",
    title="litgpt",
    task="supervised",
    signs=(("loss train", "iter time"), ("loss train", "val")),
    series={
        "loss train": base.LOSS,
        "val": base.VAL_LOSS,
        "val_loss": base.VAL_LOSS,
        "val_ppl": base.PERPLEXITY,
        "iter time": base.STEP_TIME_MS,
        "*iter time": base.UNITS,
        "*remaining time": base.UNITS,
        "iter_time": base.STEP_TIME,
        "learning_rate": base.LR,
        "tokens": base.UNITS,
        "total_tokens": base.UNITS,
    },
    objective=("loss train", "val"),
    normal=("The validation loss is repeated in every row until the next evaluation.",),
    example={"loss train": 3.1, "val": 3.2, "iter time": 361.2},
    sources=("https://github.com/Lightning-AI/litgpt",),
)
