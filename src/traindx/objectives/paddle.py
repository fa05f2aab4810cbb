"""PaddlePaddle's trainers (PaddleSeg, PaddleDetection, PaddleOCR, PaddleClas): lines with batch and reader cost."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="paddle",
    title="PaddlePaddle",
    task="supervised",
    signs=(("loss", "batch_cost", "reader_cost"), ("batch_cost", "reader_cost", "ips"), ("loss", "avg_reader_cost")),
    series={
        "loss": base.LOSS,
        "reader_cost": base.DATA_TIME,
        "avg_reader_cost": base.DATA_TIME,
        "batch_cost": base.STEP_TIME,
        "avg_batch_cost": base.STEP_TIME,
        "ips": base.THROUGHPUT,
        "avg_ips": base.THROUGHPUT,
        "lr": base.LR,
        "mious": base.VAL_SCORE,
        "miou": base.VAL_SCORE,
    },
    objective=("loss",),
    example={"loss": 0.9, "lr": 0.01, "batch_cost": 0.21, "reader_cost": 0.01, "ips": 38.1},
    sources=(
        "https://github.com/PaddlePaddle/PaddleSeg/blob/cc7aa0aec3eb91815dfc4d6b858dc130973dc461/paddleseg/core/train.py",
    ),
)
