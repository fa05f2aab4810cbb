"""AReaL: asynchronous reinforcement learning of language models."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="areal",
    title="AReaL",
    task="rl",
    signs=(
        ("ppo_actor/task_reward/avg",),
        ("ppo_actor/task_reward/avg", "ppo_actor/update/*"),
        ("ppo_actor/final_reward/avg",),
        ("task_reward/avg", "importance_weight/avg"),
    ),
    series={
        "ppo_actor/task_reward/avg": base.REWARD,
        "task_reward/avg": base.REWARD,
        "ppo_actor/final_reward/avg": base.REWARD_PART,
        "final_reward/avg": base.REWARD_PART,
        "*entropy/avg": base.ENTROPY,
        "*approx_kl/avg": base.UPDATE_KL,
        "*ref_kl/avg": base.KL,
        "*kl_rewards/avg": base.UNITS,
        "*dual_clip_ratio/avg": base.UNITS,
        "*clip_ratio/avg": base.CLIP_FRACTION,
        "*behave_imp_weight/avg": base.MISMATCH_RATIO,
        "*behave_approx_kl/avg": base.MISMATCH,
        "*importance_weight/avg": base.RATIO,
        "*no_eos_ratios/avg": base.CUT_SHARE,
        "*seq_len/avg": base.LENGTH,
        "*seq_len/max": base.LONGEST,
        "*prompt_len/*": base.UNITS,
        "*actor_loss/avg": base.POLICY_LOSS,
        "*grad_norm": base.GRAD_NORM,
        "*/lr": base.LR,
        "*/max": base.UNITS,
        "*/min": base.UNITS,
        "timeperf/*": base.TIME,
    },
    objective=("ppo_actor/task_reward/avg", "task_reward/avg", "ppo_actor/final_reward/avg"),
    normal=("Samples are a few versions old by design: importance weights scatter around 1.",),
    example={
        "ppo_actor/task_reward/avg": 0.4,
        "ppo_actor/seq_len/avg": 512.0,
        "ppo_actor/update/entropy/avg": 0.5,
        "ppo_actor/update/importance_weight/avg": 1.0,
        "ppo_actor/update/clip_ratio/avg": 0.01,
        "ppo_actor/no_eos_ratios/avg": 0.05,
    },
    sources=("https://github.com/areal-project/AReaL",),
)
