"""Tianshou: the terminal and TensorBoard."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="tianshou",
    title="Tianshou",
    task="rl",
    signs=(
        ("test_reward", "best_reward"),
        ("test_reward",),
        ("test/reward", "train/reward"),
        ("test/returns_stat/mean",),
    ),
    series={
        "test_reward": base.REWARD,
        "test/reward": base.REWARD,
        "test/returns_stat/mean": base.REWARD,
        "best_reward": base.UNITS,
        "train/reward": base.REWARD_PART,
        "train/returns_stat/mean": base.REWARD_PART,
        "*_stat/*": base.UNITS,
        "test/reward_std": base.UNITS,
        "train/length": base.EPISODE_LENGTH,
        "test/length": base.UNITS,
        "update/loss": base.PART,
        "update/loss/vf": base.VALUE_LOSS,
        "update/loss/clip": base.POLICY_LOSS,
        "update/loss/ent": base.ENTROPY,
        "env_step": base.UNITS,
    },
    objective=("test_reward", "test/reward", "test/returns_stat/mean"),
    normal=("The value loss may rise while the policy gets better: larger returns are harder to predict.",),
    example={"test_reward": 120.0, "best_reward": 130.0},
    sources=("https://tianshou.org/",),
)
