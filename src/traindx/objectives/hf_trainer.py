"""The Trainer of Hugging Face transformers, and what writes through it (unsloth, most fine-tuning scripts)."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="hf-trainer",
    title="Hugging Face Trainer",
    task="supervised",
    signs=(("loss", "learning_rate", "grad_norm"), ("eval_loss", "eval_runtime"), ("loss", "learning_rate")),
    series={
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "eval_accuracy": base.VAL_SCORE,
        "eval_perplexity": base.PERPLEXITY,
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
    normal=("A last row with train_loss holds the mean of the whole run, not a new value.",),
    example={"loss": 1.21, "grad_norm": 1.4, "learning_rate": 2e-05, "epoch": 0.5},
    sources=("https://huggingface.co/docs/transformers/main_classes/trainer",),
    general=True,
)
