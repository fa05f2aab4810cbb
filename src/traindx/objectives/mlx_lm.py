"""mlx-lm's and mlx-vlm's fine-tuning lines."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="mlx-lm",
    title="mlx-lm",
    task="supervised",
    signs=(("train loss", "it/sec", "trained tokens"), ("val loss", "val took")),
    series={
        "train loss": base.TRAIN_LOSS,
        "val loss": base.VAL_LOSS,
        "learning rate": base.LR,
        "it/sec": base.THROUGHPUT,
        "tokens/sec": base.THROUGHPUT,
        "trained tokens": base.UNITS,
        "peak mem": base.MEMORY,
        "val took": base.TIME,
    },
    objective=("train loss", "val loss"),
    normal=("The first validation loss is measured before any update.",),
    example={"Train loss": 2.5, "Learning Rate": 1e-5, "It/sec": 0.16, "Tokens/sec": 282.5, "Trained Tokens": 17373},
    sources=("https://github.com/ml-explore/mlx-lm",),
)
