"""torchtune's DiskLogger, W&B and TensorBoard."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="torchtune",
    title="torchtune",
    task="supervised",
    signs=(
        ("loss", "tokens_per_second_per_gpu"),
        ("loss", "lr", "tokens_per_second_per_gpu"),
        ("loss", "tokens_per_second_per_gpu", "peak_memory_active"),
    ),
    series={
        "loss": base.LOSS,
        "val_loss": base.VAL_LOSS,
        "lr": base.LR,
        "grad_norm": base.GRAD_NORM,
        "tokens_per_second_per_gpu": base.THROUGHPUT,
        "peak_memory_*": base.MEMORY,
        "rewards/chosen": base.CHOSEN,
        "rewards/rejected": base.REJECTED,
        "rewards/margins": base.MARGIN,
        "rewards/accuracies": base.SCORE,
        "log_probs/chosen": base.CHOSEN_LOGP,
        "log_probs/rejected": base.REJECTED_LOGP,
    },
    objective=("loss", "val_loss"),
    normal=("Fine-tuning begins at a low loss and soon stands still; a fall by a third is usual.",),
    example={
        "loss": 1.6,
        "lr": 2e-05,
        "tokens_per_second_per_gpu": 812.3,
        "grad_norm": 1.1,
        "peak_memory_active": 24.1,
    },
    sources=("https://docs.pytorch.org/torchtune/",),
)
