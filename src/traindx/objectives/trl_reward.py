"""TRL's reward modelling."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="trl-reward",
    title="TRL reward model",
    task="reward model",
    signs=(("min_reward", "max_reward", "mean_reward", "margin"), ("mean_reward", "margin", "accuracy")),
    series={
        "loss": base.LOSS,
        "accuracy": base.SCORE,
        "margin": base.MARGIN,
        "mean_reward": base.UNITS,
        "min_reward": base.UNITS,
        "max_reward": base.UNITS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "num_tokens": base.UNITS,
    },
    objective=("loss",),
    normal=(
        "The loss starts at 0.693 (ln 2); accuracies of 0.65 to 0.8 are usual for human preferences.",
        "mean_reward has no zero point and may drift: only differences within a pair count.",
    ),
    example={
        "loss": 0.61, "num_tokens": 41223.0, "min_reward": -2.1, "mean_reward": 0.1, "max_reward": 2.3,
        "accuracy": 0.67, "margin": 0.4, "learning_rate": 1e-5, "grad_norm": 4.0, "epoch": 0.2,
    },
    sources=("https://huggingface.co/docs/trl/reward_trainer",),
)  # fmt: skip
