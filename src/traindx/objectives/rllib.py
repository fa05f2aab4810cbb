"""Ray RLlib: result.json, progress.csv and TensorBoard, old and new stack."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="rllib",
    title="RLlib",
    task="rl",
    signs=(
        ("episode_reward_mean",),
        ("episode_reward_mean", "episode_len_mean"),
        ("env_runners/episode_return_mean",),
        ("env_runners/episode_return_mean", "learners/*"),
        ("ray/tune/episode_reward_mean",),
    ),
    series={
        "episode_reward_mean": base.REWARD,
        "env_runners/episode_reward_mean": base.REWARD,
        "env_runners/episode_return_mean": base.REWARD,
        "ray/tune/episode_reward_mean": base.REWARD,
        "sampler_results/*": base.UNITS,
        "evaluation/*episode_re*_mean": base.VAL_REWARD,
        "*episode_reward_max": base.UNITS,
        "*episode_reward_min": base.UNITS,
        "*episode_return_max": base.UNITS,
        "*episode_return_min": base.UNITS,
        "*episode_len_mean": base.EPISODE_LENGTH,
        "*vf_loss_unclipped": base.UNITS,
        "*vf_loss": base.VALUE_LOSS,
        "*policy_loss": base.POLICY_LOSS,
        "*total_loss": base.UNITS,
        "*vf_explained_var": base.EXPLAINED,
        "*mean_kl_loss": base.UPDATE_KL,
        "*cur_kl_coeff": base.UNITS,
        "*curr_kl_coeff": base.UNITS,
        "*/kl": base.UPDATE_KL,
        "*entropy_coeff": base.UNITS,
        "*entropy": base.ENTROPY,
        "*cur_lr": base.LR,
        "*learning_rate": base.LR,
        "*grad_gnorm": base.GRAD_NORM,
        "hist_stats/*": base.UNITS,
        "perf/*": base.UNITS,
        "timers/*": base.UNITS,
        "config/*": base.UNITS,
    },
    objective=(
        "episode_reward_mean",
        "env_runners/episode_return_mean",
        "env_runners/episode_reward_mean",
        "ray/tune/episode_reward_mean",
    ),
    normal=("The value loss may rise while the policy gets better: larger returns are harder to predict.",),
    example={
        "episode_reward_mean": 120.0,
        "episode_len_mean": 120.0,
        "info/learner/default_policy/learner_stats/vf_loss": 8.0,
        "training_iteration": 12,
    },
    sources=("https://docs.ray.io/en/latest/rllib/", "https://github.com/ray-project/ray/issues/18812"),
    passes=30,
)
