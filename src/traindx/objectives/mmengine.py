"""OpenMMLab (mmengine, mmcv): JSON rows and the terminal."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="mmengine",
    title="OpenMMLab",
    task="supervised",
    signs=(
        ("loss", "data_time", "time", "lr"),
        ("loss", "data_time", "memory"),
        ("loss_cls", "loss_bbox", "data_time"),
        ("loss_rpn_cls", "loss_bbox"),
    ),
    series={
        "loss": base.LOSS,
        "data_time": base.DATA_TIME,
        "time": base.STEP_TIME,
        "memory": base.MEMORY,
        "lr": base.LR,
        "base_lr": base.UNITS,
        "grad_norm": base.GRAD_NORM,
        "coco/bbox_map": base.VAL_SCORE,
        "bbox_map": base.VAL_SCORE,
        "miou": base.VAL_SCORE,
        "accuracy/top1": base.VAL_SCORE,
        "accuracy_top-1": base.VAL_SCORE,
    },
    objective=("loss",),
    example={"lr": 0.01, "data_time": 0.01, "loss": 1.1, "time": 0.3, "memory": 4012},
    sources=("https://mmengine.readthedocs.io/",),
)
