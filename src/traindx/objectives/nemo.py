"""NeMo 2 and Megatron-Bridge through Lightning."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="nemo",
    title="NeMo",
    task="supervised",
    signs=(
        ("reduced_train_loss",),
        ("reduced_train_loss", "global_step"),
        ("reduced_train_loss", "train_step_timing in s"),
        ("reduced_train_loss", "consumed_samples"),
    ),
    series={
        "reduced_train_loss": base.LOSS,
        "val_loss": base.VAL_LOSS,
        "lr": base.LR,
        "grad_norm": base.GRAD_NORM,
        "train_step_timing in s": base.STEP_TIME,
        "train_step_timing": base.STEP_TIME,
        "validation_step_timing*": base.UNITS,
        "global_batch_size": base.UNITS,
        "consumed_samples": base.UNITS,
        "load_balancing_loss": base.BALANCE,
        "tflops_per_sec_per_gpu": base.THROUGHPUT,
    },
    objective=("reduced_train_loss", "val_loss"),
    example={
        "lr": 1e-05,
        "global_batch_size": 512,
        "reduced_train_loss": 8.1,
        "train_step_timing in s": 5.1,
        "consumed_samples": 512,
    },
    sources=("https://docs.nvidia.com/nemo-framework/",),
)
