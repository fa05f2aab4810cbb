"""NeMo-RL: blocks on the terminal, TensorBoard and W&B."""

from __future__ import annotations

from traindx.objectives import base
from traindx.objectives.base import Trainer

TRAINER = Trainer(
    id="nemo-rl",
    title="NeMo-RL",
    task="rl",
    signs=(
        ("avg reward", "generation kl error"),
        ("avg reward", "mean generation length"),
        ("reward", "token_mult_prob_error"),
        ("reward", "gen_kl_error"),
    ),
    series={
        "avg reward": base.REWARD,
        "reward": base.REWARD,
        "loss": base.POLICY_LOSS,
        "generation kl error": base.MISMATCH,
        "gen_kl_error": base.MISMATCH,
        "policy_kl_error": base.UNITS,
        "js_divergence_error": base.UNITS,
        "token_mult_prob_error": base.MISMATCH_RATIO,
        "sampling_importance_ratio": base.MISMATCH_RATIO,
        "probs_ratio": base.RATIO,
        "probs_ratio_clamped": base.UNITS,
        "probs_ratio*": base.UNITS,
        "kl_penalty": base.KL,
        "approx_entropy": base.ENTROPY,
        "mean generation length": base.LENGTH,
        "mean_gen_tokens_per_sample": base.LENGTH,
        "gen_tokens_lengths": base.LENGTH,
        "generation_lengths": base.LENGTH,
        "truncation_rate": base.CUT_SHARE,
        "validation/accuracy": base.VAL_SCORE,
        "accuracy": base.SCORE,
        "baseline_reward/*": base.UNITS,
        "advantages/*": base.UNITS,
        "grad_norm": base.GRAD_NORM,
        "lr": base.LR,
        "total step time": base.STEP_TIME,
        "total_step_time": base.STEP_TIME,
        "valid_tokens_per_sec_per_gpu": base.THROUGHPUT,
    },
    objective=("avg reward", "reward"),
    normal=(
        "The loss hovers around 0 and says nothing about learning.",
        "token_mult_prob_error is 1 where trainer and sampler agree; up to 1.05 is rounding.",
    ),
    example={"Loss": 0.001, "Generation KL Error": 0.0012, "Avg Reward": 0.41, "Mean Generation Length": 351.0},
    sources=(
        "https://github.com/NVIDIA-NeMo/RL/blob/main/docs/guides/grpo.md",
        "https://github.com/NVIDIA-NeMo/RL/issues/2260",
    ),
)
