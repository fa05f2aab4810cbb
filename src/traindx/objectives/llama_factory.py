"""LLaMA-Factory's trainer_log.jsonl."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="llama-factory",
    title="LLaMA-Factory",
    task="supervised",
    signs=(
        ("loss", "lr", "percentage"),
        ("loss", "learning_rate", "percentage", "total_steps"),
        ("loss", "lr", "percentage", "total_steps"),
    ),
    series={
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "lr": base.LR,
        "learning_rate": base.LR,
        "reward": base.REWARD,
        "accuracy": base.SCORE,
        "throughput": base.THROUGHPUT,
        "total_tokens": base.UNITS,
        "percentage": base.UNITS,
        "total_steps": base.UNITS,
        "predict_loss": base.UNITS,
    },
    objective=("loss", "eval_loss"),
    normal=("A loss of exactly 0.0 after finite values is a NaN that the Trainer filtered, not a solved task.",),
    example={"current_steps": 10, "total_steps": 600, "loss": 1.9, "lr": 5e-05, "epoch": 0.1, "percentage": 1.67},
    sources=("https://github.com/hiyouga/LLaMA-Factory", "https://github.com/hiyouga/LlamaFactory/issues/506"),
)
