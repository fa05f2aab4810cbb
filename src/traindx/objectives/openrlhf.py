"""OpenRLHF: PPO, REINFORCE++, GRPO and RLOO."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="openrlhf",
    title="OpenRLHF",
    task="rl",
    signs=(
        ("policy_loss", "response_length", "return", "reward"),
        ("rm", "ret", "glen"),
        ("act_loss", "reward", "return", "response_length"),
        ("policy_loss", "response_length", "total_length", "reward"),
    ),
    series={
        "reward": base.REWARD,
        "rm": base.REWARD,
        "return": base.REWARD_PART,
        "ret": base.UNITS,
        "group_reward_std": base.REWARD_SPREAD,
        "policy_loss": base.POLICY_LOSS,
        "act_loss": base.POLICY_LOSS,
        "pg": base.POLICY_LOSS,
        "critic_loss": base.VALUE_LOSS,
        "cri": base.VALUE_LOSS,
        "values": base.UNITS,
        "vals": base.UNITS,
        "kl": base.KL,
        "ppo_kl": base.UPDATE_KL,
        "ppo_clip_ratio": base.CLIP_FRACTION,
        "clip_ratio": base.CLIP_FRACTION,
        "vllm_kl": base.MISMATCH,
        "entropy_loss": base.ENTROPY,
        "response_length": base.LENGTH,
        "glen": base.LENGTH,
        "total_length": base.UNITS,
        "tlen": base.UNITS,
        "num_actions": base.UNITS,
        "truncated": base.CUT_SHARE,
        "response_clip_ratio": base.CUT_SHARE,
        "actor_lr": base.LR,
        "act_lr": base.LR,
        "critic_lr": base.UNITS,
        "k_coef": base.UNITS,
        "kl_coef": base.UNITS,
        "actor_grad_norm": base.GRAD_NORM,
    },
    objective=("reward", "rm"),
    normal=("The policy loss hovers around 0 and says nothing about learning.",),
    example={
        "policy_loss": 0.01, "actor_lr": 5e-7, "critic_loss": 0.02, "values": 0.1, "kl": 0.004, "reward": 0.41,
        "return": 0.38, "response_length": 812.0, "total_length": 941.0, "num_actions": 812.0,
    },
    sources=("https://github.com/OpenRLHF/OpenRLHF", "https://github.com/OpenRLHF/OpenRLHF/issues/91"),
)  # fmt: skip
