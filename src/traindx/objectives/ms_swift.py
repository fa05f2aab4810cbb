"""ms-swift's logging.jsonl and terminal, supervised."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="ms-swift",
    title="ms-swift",
    task="supervised",
    signs=(
        ("loss", "token_acc"),
        ("loss", "token_acc", "learning_rate", "grad_norm"),
        ("loss", "token_acc", "learning_rate", "grad_norm", "memory(gib)"),
        ("loss", "global_step/max_steps"),
    ),
    series={
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "token_acc": base.TOKEN_ACCURACY,
        "acc": base.TOKEN_ACCURACY,
        "eval_token_acc": base.VAL_SCORE,
        "memory(gib)": base.MEMORY,
        "train_speed(iter/s)": base.THROUGHPUT,
        "train_speed(s/it)": base.STEP_TIME,
        "train_speed*": base.UNITS,
        "global_step/max_steps": base.UNITS,
        "percentage": base.UNITS,
        "eval_runtime": base.TIME,
        "train_runtime": base.TIME,
        "eval_samples_per_second": base.UNITS,
        "eval_steps_per_second": base.UNITS,
        "train_samples_per_second": base.UNITS,
        "train_steps_per_second": base.UNITS,
        "total_flos": base.UNITS,
        "num_input_tokens_seen": base.UNITS,
        "train_tokens_per_second": base.UNITS,
    },
    objective=("loss", "eval_loss"),
    normal=("Fine-tuning begins at a low loss and soon stands still; a fall by a third is usual.",),
    example={
        "loss": 1.2,
        "grad_norm": 1.1,
        "learning_rate": 0.0001,
        "token_acc": 0.7,
        "epoch": 0.1,
        "memory(GiB)": 41.2,
        "train_speed(iter/s)": 0.31,
    },
    sources=("https://swift.readthedocs.io/",),
)
