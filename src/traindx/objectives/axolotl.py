"""axolotl's terminal and Trainer state."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="axolotl",
    title="axolotl",
    task="supervised",
    signs=(
        ("loss", "tokens/train_per_sec_per_gpu"),
        ("loss", "memory/max_active (gib)", "learning_rate", "grad_norm"),
        ("loss", "tokens_per_second_per_gpu", "learning_rate", "memory/max_mem_active(gib)"),
    ),
    series={
        "loss": base.LOSS,
        "eval_loss": base.VAL_LOSS,
        "train_loss": base.LOSS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "ppl": base.PERPLEXITY,
        "eval_ppl": base.PERPLEXITY,
        "tokens/train_per_sec_per_gpu": base.THROUGHPUT,
        "tokens_per_second_per_gpu": base.THROUGHPUT,
        "memory/*": base.MEMORY,
        "tokens/*": base.UNITS,
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
        "learning_rate": 0.0002,
        "ppl": 3.3,
        "memory/max_active (GiB)": 20.1,
        "tokens/train_per_sec_per_gpu": 1210.4,
        "epoch": 0.1,
    },
    sources=("https://docs.axolotl.ai/",),
)
