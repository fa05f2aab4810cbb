"""open-instruct: grpo_fast, ppo and DPO of AI2."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="open-instruct",
    title="open-instruct",
    task="rl",
    signs=(
        ("objective/scores", "objective/verifiable_correct_rate"),
        ("objective/scores", "val/sequence_lengths"),
        ("scores", "val/sequence_lengths"),
        ("objective/scores", "loss/policy_avg", "val/sequence_lengths"),
    ),
    series={
        "objective/scores": base.REWARD,
        "scores": base.REWARD,
        "objective/verifiable_correct_rate": base.SCORE,
        "objective/verifiable_reward": base.REWARD_PART,
        "objective/*_reward": base.REWARD_PART,
        "objective/*_correct_rate": base.SCORE,
        "objective/kl_avg": base.KL,
        "objective/kl": base.ANSWER_KL,
        "objective/kl2_avg": base.UNITS,
        "objective/kl3_avg": base.UNITS,
        "objective/kl4_avg": base.UNITS,
        "loss/policy_avg": base.POLICY_LOSS,
        "loss/kl_avg": base.UNITS,
        "loss/total_avg": base.UNITS,
        "policy/clipfrac_avg": base.CLIP_FRACTION,
        "policy/approxkl_avg": base.UPDATE_KL,
        "policy/entropy_avg": base.ENTROPY,
        "val/ratio": base.RATIO,
        "val/ratio_var": base.UNITS,
        "val/sequence_lengths": base.LENGTH,
        "val/sequence_lengths_max": base.LONGEST,
        "val/sequence_lengths_min": base.SHORTEST,
        "val/stop_rate": base.UNITS,
        "val/advantages_*": base.UNITS,
        "val/tis_ratio": base.MISMATCH_RATIO,
        "debug/vllm_vs_local_logprob_diff_mean": base.MISMATCH,
        "eval/*": base.VAL_SCORE,
        "lr": base.LR,
        "learner_tokens_per_second_*": base.THROUGHPUT,
    },
    objective=("objective/scores", "scores"),
    normal=("The policy loss hovers around 0 and says nothing about learning.",),
    example={
        "objective/scores": 5.1,
        "objective/verifiable_correct_rate": 0.4,
        "objective/kl_avg": 0.01,
        "loss/policy_avg": 0.001,
        "policy/clipfrac_avg": 0.001,
        "val/ratio": 1.0,
        "val/sequence_lengths": 512.0,
        "lr": 5e-07,
    },
    sources=("https://github.com/allenai/open-instruct", "https://allenai.github.io/open-instruct/algorithms/grpo/"),
)
