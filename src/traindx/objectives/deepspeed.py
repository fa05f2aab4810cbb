"""DeepSpeed's engine lines and monitor."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="deepspeed",
    title="DeepSpeed",
    task="supervised",
    signs=(
        ("train/samples/train_loss",),
        ("train_loss", "loss_scale", "samples/sec"),
        ("skipped", "lr", "samples/sec"),
    ),
    series={
        "train/samples/train_loss": base.LOSS,
        "train/samples/lr": base.LR,
        "train/samples/loss_scale": base.LOSS_SCALE,
        "train_loss": base.LOSS,
        "loss": base.LOSS,
        "lr": base.LR,
        "loss_scale": base.LOSS_SCALE,
        "skipped": base.SKIPPED,
        "samples/sec": base.THROUGHPUT,
        "runningavgsamplespersec": base.UNITS,
        "currsamplespersec": base.THROUGHPUT,
        "memallocated": base.MEMORY,
        "maxmemallocated": base.MEMORY,
    },
    objective=("train/samples/train_loss", "train_loss", "loss"),
    normal=("A gradient norm of -1, or of 1.41421 for two groups, stands for one that is not finite.",),
    example={"Train/Samples/train_loss": 2.1, "Train/Samples/lr": 0.0001, "Train/Samples/loss_scale": 65536},
    sources=(
        "https://www.deepspeed.ai/docs/config-json/#tensorboard-options",
        "https://github.com/deepspeedai/DeepSpeed/issues/5347",
    ),
)
