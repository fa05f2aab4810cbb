"""nanoGPT's and llm.c's terminal."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="nanogpt",
    title="nanoGPT",
    task="supervised",
    signs=(("train loss", "val loss"), ("loss", "time", "mfu")),
    series={
        "train loss": base.TRAIN_LOSS,
        "val loss": base.VAL_LOSS,
        "loss": base.LOSS,
        "time": base.STEP_TIME_MS,
        "mfu": base.THROUGHPUT,
        "lr": base.LR,
        "dt": base.STEP_TIME_MS,
        "norm": base.GRAD_NORM,
        "tok/sec": base.THROUGHPUT,
        "hella": base.VAL_SCORE,
    },
    objective=("loss", "train loss", "val loss"),
    normal=("mfu is -100 % until it is measured.",),
    example={"loss": 3.1, "time": 210.3, "mfu": 31.2},
    sources=("https://github.com/karpathy/nanoGPT",),
)
