"""RSL-rl and legged_gym, Isaac Lab: blocks on the terminal and TensorBoard."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="rsl-rl",
    title="RSL-rl",
    task="rl",
    signs=(
        ("mean reward", "mean episode length"),
        ("mean reward", "mean surrogate loss"),
        ("train/mean_reward", "loss/value_function"),
        ("train/mean_reward", "loss/surrogate"),
        ("train/mean_reward",),
    ),
    series={
        "mean reward": base.REWARD,
        "mean total reward": base.REWARD,
        "train/mean_reward": base.REWARD,
        "train/mean_reward/time": base.UNITS,
        "mean episode length": base.EPISODE_LENGTH,
        "train/mean_episode_length": base.EPISODE_LENGTH,
        "train/mean_episode_length/time": base.UNITS,
        "episode_reward/*": base.REWARD_PART,
        "episode_termination/*": base.UNITS,
        "curriculum/*": base.UNITS,
        "metrics/*": base.UNITS,
        "mean value_function loss": base.VALUE_LOSS,
        "mean value loss": base.VALUE_LOSS,
        "value function loss": base.VALUE_LOSS,
        "loss/value_function": base.VALUE_LOSS,
        "loss/value": base.VALUE_LOSS,
        "mean surrogate loss": base.POLICY_LOSS,
        "surrogate loss": base.POLICY_LOSS,
        "loss/surrogate": base.POLICY_LOSS,
        "mean entropy loss": base.DENSITY_ENTROPY,
        "loss/entropy": base.DENSITY_ENTROPY,
        "mean action noise std": base.ACTION_STD,
        "mean action std": base.ACTION_STD,
        "policy/mean_noise_std": base.ACTION_STD,
        "policy/mean_std": base.ACTION_STD,
        "loss/learning_rate": base.LR,
        "computation": base.THROUGHPUT,
        "steps per second": base.THROUGHPUT,
        "perf/total_fps": base.THROUGHPUT,
        "perf/*": base.TIME,
        "iteration time": base.STEP_TIME,
    },
    objective=("mean reward", "mean total reward", "train/mean_reward"),
    normal=(
        "The entropy is that of a density and may be negative; the noise std should fall slowly and stay above 0.",
        "The value loss may rise while the policy gets better: larger returns are harder to predict.",
    ),
    example={
        "Mean reward": 0.65,
        "Mean episode length": 12.0,
        "Mean action noise std": 1.0,
        "Mean value_function loss": 0.027,
        "Mean surrogate loss": -0.0138,
        "Mean entropy loss": 9.93,
        "Episode_Reward/lin_vel": -0.02,
    },
    sources=("https://github.com/leggedrobotics/rsl_rl", "https://github.com/isaac-sim/IsaacLab/issues/1999"),
    passes=5,
)
