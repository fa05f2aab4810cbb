"""Ultralytics YOLO: results.csv and the terminal."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="ultralytics",
    title="Ultralytics",
    task="supervised",
    signs=(
        ("train/box_loss", "val/box_loss"),
        ("train/box_loss", "metrics/map50(b)"),
        ("box_loss", "cls_loss", "dfl_loss"),
        ("train/loss", "metrics/accuracy_top1"),
    ),
    series={
        "metrics/map50-95(b)": base.VAL_SCORE,
        "metrics/map50(b)": base.VAL_SCORE,
        "metrics/map50-95(m)": base.VAL_SCORE,
        "metrics/map50(m)": base.VAL_SCORE,
        "metrics/accuracy_top1": base.VAL_SCORE,
        "lr/*": base.LR,
        "time": base.TIME,
    },
    objective=("train/loss", "metrics/map50-95(b)"),
    normal=("Mosaic augmentation ends ten epochs before the end, and the losses drop there.",),
    example={
        "epoch": 1,
        "train/box_loss": 1.2,
        "train/cls_loss": 2.1,
        "train/dfl_loss": 1.1,
        "metrics/precision(B)": 0.6,
        "metrics/recall(B)": 0.5,
        "metrics/mAP50(B)": 0.5,
        "metrics/mAP50-95(B)": 0.3,
        "val/box_loss": 1.3,
        "lr/pg0": 0.01,
    },
    sources=("https://docs.ultralytics.com/",),
)
