"""TRL's PPO for language models."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="trl-ppo",
    title="TRL PPO",
    task="rl",
    signs=(
        ("objective/scores", "objective/kl"),
        ("objective/rlhf_reward", "objective/kl", "policy/approxkl_avg"),
        ("ppo/mean_scores", "objective/kl"),
    ),
    series={
        "objective/scores": base.REWARD,
        "ppo/mean_scores": base.REWARD,
        "objective/rlhf_reward": base.REWARD_PART,
        "objective/non_score_reward": base.UNITS,
        "ppo/mean_non_score_reward": base.UNITS,
        "objective/kl": base.ANSWER_KL,
        "objective/kl_coef": base.UNITS,
        "objective/entropy": base.UNITS,
        "policy/entropy_avg": base.ENTROPY,
        "ppo/policy/entropy": base.ENTROPY,
        "policy/approxkl_avg": base.UPDATE_KL,
        "ratio": base.RATIO,
        "ppo/policy/approxkl": base.UPDATE_KL,
        "policy/clipfrac_avg": base.CLIP_FRACTION,
        "ppo/policy/clipfrac": base.CLIP_FRACTION,
        "val/clipfrac_avg": base.VALUE_CLIP_FRACTION,
        "loss/policy_avg": base.POLICY_LOSS,
        "ppo/loss/policy": base.POLICY_LOSS,
        "loss/value_avg": base.VALUE_LOSS,
        "ppo/loss/value": base.VALUE_LOSS,
        "ppo/loss/total": base.UNITS,
        "ppo/val/var_explained": base.EXPLAINED,
        "val/ratio": base.RATIO,
        "val/ratio_var": base.UNITS,
        "val/num_eos_tokens": base.UNITS,
        "objective/response_length": base.LENGTH,
        "eps": base.THROUGHPUT,
        "lr": base.LR,
    },
    objective=("objective/scores", "ppo/mean_scores", "objective/rlhf_reward"),
    normal=(
        "objective/kl counts the whole answer: values of 5 to 20 are usual and grow slowly.",
        "objective/rlhf_reward holds the KL penalty: judge by objective/scores.",
    ),
    example={
        "eps": 1, "objective/kl": 10.5, "objective/entropy": 99.8, "objective/non_score_reward": -0.53,
        "objective/rlhf_reward": 1.11, "objective/scores": 1.63, "policy/approxkl_avg": 0.0023,
        "policy/clipfrac_avg": 0.006, "loss/policy_avg": 0.0009, "loss/value_avg": 0.153, "val/clipfrac_avg": 0.0,
        "policy/entropy_avg": 0.98, "val/ratio": 0.97, "val/ratio_var": 7e-05, "val/num_eos_tokens": 0, "lr": 2e-06,
        "episode": 816, "epoch": 0.91,
    },
    sources=("https://huggingface.co/docs/trl/ppo_trainer", "https://github.com/hongbo-miao/hongbomiao.com/pull/37684"),
    passes=4,
)  # fmt: skip
