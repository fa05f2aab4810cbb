"""TRL's supervised fine-tuning, also of unsloth and axolotl on top of it."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="trl-sft",
    title="TRL SFT",
    task="supervised",
    signs=(
        ("loss", "mean_token_accuracy"),
        ("loss", "mean_token_accuracy", "num_tokens", "learning_rate"),
        ("loss", "mean_token_accuracy", "num_tokens", "learning_rate", "grad_norm"),
    ),
    series={
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "mean_token_accuracy": base.TOKEN_ACCURACY,
        "entropy": base.ENTROPY,
        "num_tokens": base.UNITS,
        "aux_loss": base.BALANCE,
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
    normal=(
        "Fine-tuning begins at a low loss and soon stands still; a fall by a third is usual.",
        "mean_token_accuracy counts next tokens under teacher forcing, not answers.",
    ),
    example={
        "loss": 1.21,
        "grad_norm": 1.4,
        "learning_rate": 2e-05,
        "entropy": 1.1,
        "num_tokens": 9000.0,
        "mean_token_accuracy": 0.7,
        "epoch": 0.5,
    },
    sources=("https://huggingface.co/docs/trl/sft_trainer",),
)
