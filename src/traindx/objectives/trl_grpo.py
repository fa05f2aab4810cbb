"""TRL's GRPO and RLOO, and the trainers that build on them (unsloth, open-r1, ms-swift)."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="trl-grpo",
    title="TRL GRPO or RLOO",
    task="rl",
    signs=(
        ("reward", "reward_std"),
        ("reward", "frac_reward_zero_std"),
        ("reward", "reward_std", "completions/*length"),
        ("reward", "reward_std", "completion_length", "kl"),
        ("reward", "reward_std", "frac_reward_zero_std", "completions/*"),
    ),
    series={
        "loss": base.POLICY_LOSS,
        "reward": base.REWARD,
        "reward_std": base.REWARD_SPREAD,
        "frac_reward_zero_std": base.EQUAL_GROUPS,
        "rewards/*/mean": base.REWARD_PART,
        "reward/*/mean": base.REWARD_PART,
        "rewards/*/std": base.SPREAD_PART,
        "reward/*/std": base.SPREAD_PART,
        "rewards/*": base.REWARD_PART,
        "kl": base.KL,
        "approx_kl": base.UPDATE_KL,
        "ratio": base.RATIO,
        "entropy": base.ENTROPY,
        "entropy/mean": base.ENTROPY,
        "clip_ratio": base.CLIP_FRACTION,
        "clip_ratio/region_mean": base.CLIP_FRACTION,
        "clip_ratio/*": base.UNITS,
        "completion_length": base.LENGTH,
        "completions/mean_length": base.LENGTH,
        "completions/max_length": base.LONGEST,
        "completions/min_length": base.SHORTEST,
        "completions/clipped_ratio": base.CUT_SHARE,
        "completions/*": base.UNITS,
        "sampling/sampling_logp_difference/mean": base.MISMATCH,
        "sampling/importance_sampling_ratio/mean": base.MISMATCH_RATIO,
        "sampling/*": base.UNITS,
        "learning_rate": base.LR,
        "grad_norm": base.GRAD_NORM,
        "step_time": base.STEP_TIME,
        "num_tokens": base.UNITS,
    },
    objective=("reward",),
    normal=(
        "The loss starts at 0 and rises with the KL term: it says nothing about learning.",
        "The reward is noisy: compare means over tens of steps.",
    ),
    example={
        "loss": 0.0002, "grad_norm": 0.41, "learning_rate": 9e-7, "num_tokens": 51234.0, "reward": 0.71,
        "reward_std": 0.31, "frac_reward_zero_std": 0.25, "rewards/accuracy_reward/mean": 0.55,
        "rewards/accuracy_reward/std": 0.4, "completions/mean_length": 231.5, "completions/clipped_ratio": 0.02,
        "kl": 0.0011, "entropy": 0.42, "clip_ratio/region_mean": 0.0, "step_time": 12.3, "epoch": 0.05,
    },
    sources=("https://huggingface.co/docs/trl/grpo_trainer", "https://huggingface.co/docs/trl/rloo_trainer"),
)  # fmt: skip
