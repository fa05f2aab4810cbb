"""skrl: TensorBoard and W&B."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="skrl",
    title="skrl",
    task="rl",
    signs=(("reward / total reward (mean)",), ("reward / total reward (mean)", "loss / policy loss")),
    series={
        "reward / total reward (mean)": base.REWARD,
        "reward / total reward (*)": base.UNITS,
        "reward / instantaneous reward (*)": base.UNITS,
        "episode / total timesteps (mean)": base.EPISODE_LENGTH,
        "episode / *": base.UNITS,
        "loss / policy loss": base.POLICY_LOSS,
        "loss / value loss": base.VALUE_LOSS,
        "loss / critic loss": base.VALUE_LOSS,
        "loss / entropy loss": base.UNITS,
        "policy / standard deviation": base.ACTION_STD,
        "learning / learning rate": base.LR,
        "coefficient / *": base.UNITS,
        "q-network / *": base.UNITS,
    },
    objective=("reward / total reward (mean)",),
    normal=("The value loss may rise while the policy gets better: larger returns are harder to predict.",),
    example={
        "Reward / Total reward (mean)": 120.0,
        "Loss / Policy loss": 0.01,
        "Loss / Value loss": 2.0,
        "Policy / Standard deviation": 0.8,
        "Learning / Learning rate": 0.0003,
    },
    sources=("https://skrl.readthedocs.io/",),
)
