"""Logs of policies and preferences with one fault each, in the formats of their trainers."""

from __future__ import annotations

import numpy as np

from shapes_of_logs import dictionaries, jitter
from trainer_logs import STEPS, descent, rising


def grpo(**changes: list[float]) -> str:
    """TRL's GRPO: a sound run but for what is changed."""
    rows = {
        "loss": list(0.0003 * np.arange(STEPS) / STEPS), "grad_norm": jitter(STEPS, 0.4, 0.2),
        "learning_rate": [1e-6] * STEPS, "completions/mean_length": jitter(STEPS, 210.0, 0.05),
        "completions/clipped_ratio": jitter(STEPS, 0.03, 0.3), "reward": rising(STEPS, 0.2, 0.7),
        "reward_std": jitter(STEPS, 0.31, 0.1), "frac_reward_zero_std": jitter(STEPS, 0.2, 0.2),
        "kl": list(0.0004 * np.arange(STEPS)), "entropy": list(np.linspace(0.5, 0.4, STEPS)), **changes,
    }  # fmt: skip
    names = list(rows)
    return dictionaries(
        {**{name: float(f"{rows[name][n]:.6g}") for name in names}, "epoch": round(n / STEPS, 4)} for n in range(STEPS)
    )


def flat(level: float, noise: float = 0.15) -> list[float]:
    return jitter(STEPS, level, noise, seed=5)


def equal_rewards() -> str:
    zero = [0.0] * STEPS
    return grpo(reward=zero, reward_std=zero, frac_reward_zero_std=[1.0] * STEPS, loss=zero, grad_norm=zero, kl=zero)


def cut_answers() -> str:
    return grpo(
        **{
            "completions/clipped_ratio": jitter(STEPS, 0.97, 0.01),
            "completions/mean_length": jitter(STEPS, 255.0, 0.003),
            "reward": [abs(v) for v in jitter(STEPS, 0.02, 1.0, 5)], "reward_std": jitter(STEPS, 0.02, 0.5),
            "frac_reward_zero_std": jitter(STEPS, 0.9, 0.03),
        }
    )  # fmt: skip


def flipped_sign() -> str:
    return grpo(reward=rising(STEPS, 0.6, 0.05))


def collapsed_entropy() -> str:
    return grpo(entropy=list(0.5 * np.exp(-np.arange(STEPS) / 12) + 0.004), reward=flat(0.3))


def runaway_kl() -> str:
    grown = 0.002 * np.exp(np.arange(STEPS) / 13)
    reward = np.array(rising(STEPS, 0.2, 0.6))
    reward[80:] = np.linspace(reward[79], 0.02, STEPS - 80)
    norms = np.where(np.arange(STEPS) < 80, 0.4, 0.4 * np.exp((np.arange(STEPS) - 80) / 12))
    return grpo(kl=list(grown), reward=list(reward), grad_norm=list(norms), loss=list(0.04 * grown))


def hacked_reward() -> str:
    return grpo(
        **{
            "rewards/correctness_reward/mean": list(np.linspace(0.45, 0.15, STEPS) + 0.02 * np.sin(np.arange(STEPS))),
            "rewards/format_reward/mean": rising(STEPS, 0.1, 1.0), "reward": rising(STEPS, 0.5, 1.1),
        }
    )  # fmt: skip


def longer_and_longer() -> str:
    return grpo(**{"completions/mean_length": list(np.linspace(200, 900, STEPS)), "reward": flat(0.3)})


def sampler_apart() -> str:
    name = "sampling/sampling_logp_difference/mean"
    reward = np.array(rising(STEPS, 0.2, 0.5))
    reward[70:] = np.linspace(reward[69], 0.03, STEPS - 70)
    return grpo(**{name: jitter(STEPS, 0.45, 0.1), "reward": list(reward)})


def sampler_behind() -> str:
    drift = 0.004 + 0.8 * (np.arange(STEPS) / STEPS) ** 2
    return grpo(**{"sampling/sampling_logp_difference/mean": list(drift), "reward": flat(0.3)})


def verl_collapse() -> str:
    """verl: entropy, KL, clip fraction and the difference to the sampler run off together, then the score."""
    rows = []
    for n in range(1, STEPS + 1):
        late = max(0, n - 70)
        score = 0.15 + 0.4 * (1 - np.exp(-n / 25)) if not late else max(0.0, 0.5 - 0.02 * late)
        rows.append(
            f"step:{n} - actor/entropy:{0.8 * np.exp(-n / 30) + 0.08 * late:.3f} - "
            f"actor/kl_loss:{0.001 * np.exp(n / 13):.3f} - "
            f"actor/pg_loss:0.00{n % 7} - actor/pg_clipfrac:{min(0.7, 0.002 + 0.02 * late):.3f} - actor/grad_norm:"
            f"{0.2 + 0.3 * late:.3f} - actor/lr:0.000 - critic/score/mean:{score:.3f} - "
            f"critic/rewards/mean:{score:.3f} - "
            f"response_length/mean:{500 + 14 * late:.3f} - response_length/clip_ratio:{min(1.0, 0.02 * late):.3f} - "
            f"training/rollout_probs_diff_mean:{0.004 + 0.006 * late:.3f}\n"
        )
    return "".join(rows)


def dpo(**changes: list[float]) -> str:
    t = 1 - np.exp(-np.arange(STEPS) / 36)
    rows = {
        "loss": descent(STEPS, 0.693, 0.45), "grad_norm": jitter(STEPS, 3.1, 0.1), "learning_rate": [5e-7] * STEPS,
        "rewards/chosen": list(-0.9 * t), "rewards/rejected": list(-2.4 * t), "rewards/margins": list(1.5 * t),
        "rewards/accuracies": list(0.5 + 0.25 * t), "logps/chosen": list(-240 - 9 * t),
        "logps/rejected": list(-231 - 24 * t), **changes,
    }  # fmt: skip
    return dictionaries(
        {**{k: float(f"{v[n]:.6g}") for k, v in rows.items()}, "epoch": round(n / STEPS, 4)} for n in range(STEPS)
    )


def reference_moves() -> str:
    zero = [0.0] * STEPS
    return dpo(
        **{"loss": [0.69315] * STEPS, "rewards/chosen": zero, "rewards/rejected": zero, "rewards/margins": zero,
           "rewards/accuracies": zero}
    )  # fmt: skip


def equal_pairs() -> str:
    zero = [0.0] * STEPS
    return dpo(
        **{"loss": [0.69315] * STEPS, "grad_norm": zero, "rewards/chosen": zero, "rewards/rejected": zero,
           "rewards/margins": zero, "rewards/accuracies": zero, "logps/chosen": [-240.0] * STEPS,
           "logps/rejected": [-240.0] * STEPS}
    )  # fmt: skip


def sb3_value_explodes() -> str:
    """Stable-Baselines3's table: the critic runs off, the return stands still."""
    blocks = []
    for n in range(60):
        value, reward = 10 * 10 ** (n / 12), -180 + 8 * np.sin(1.7 * n)
        blocks.append(
            f"----------------------------------------\n| rollout/                |            |\n"
            f"|    ep_len_mean          | 200        |\n|    ep_rew_mean          | {reward:<10.4g} |\n"
            f"| time/                   |            |\n|    fps                  | 812        |\n"
            f"|    iterations           | {n + 1:<10} |\n|    total_timesteps      | {2048 * (n + 1):<10} |\n"
            f"| train/                  |            |\n|    approx_kl            | 0.00{n % 9}12    |\n"
            f"|    clip_fraction        | 0.0{n % 9}1      |\n|    entropy_loss         | -1.4       |\n"
            f"|    explained_variance   | -0.31      |\n|    value_loss           | {value:<10.4g} |\n"
            f"----------------------------------------\n"
        )
    return "".join(blocks)


def moe() -> str:
    """Megatron: the balancing loss grows fourfold from iteration 150 on while the loss still falls."""
    return "".join(
        f" [2025-03-01 10:00:00] iteration {n:8d}/    2000 | consumed samples: {512 * n:12d} | elapsed time per "
        f"iteration (ms): 5321.0 | learning rate: 3.000000E-04 | global batch size:   512 | lm loss: {loss:.6E} | "
        f"load_balancing_loss: {1.02 if n < 150 else min(4.2, 1.02 + 0.04 * (n - 150)):.6E} | loss scale: 1.0 | "
        f"grad norm: {1.0 if n < 150 else min(8.0, 1 + 0.08 * (n - 150)):.3f} | number of skipped iterations:   0 |\n"
        for n, loss in enumerate(descent(300, 9.0, 3.2), 1)
    )


def resumed() -> str:
    """ms-swift: the loss jumps where the run was resumed, and comes back slowly. Nothing else marks it."""
    losses = [*descent(60, 1.9, 0.8), *descent(60, 1.6, 0.75, seed=1)]
    return dictionaries(
        {"loss": round(v, 4), "grad_norm": 1.1, "learning_rate": 1e-4, "token_acc": 0.7, "epoch": round(n / 60, 3)}
        for n, v in enumerate(losses, 1)
    )


def out_of_memory() -> str:
    rows = dictionaries(
        {"loss": round(v, 4), "grad_norm": 1.1, "learning_rate": 1e-4, "epoch": round(n / 90, 3)}
        for n, v in enumerate(descent(60, 1.9, 1.1), 1)
    )
    return rows + (
        'Traceback (most recent call last):\n  File "train.py", line 88, in <module>\n    loss.backward()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.10 "
        "GiB of which 1.20 GiB is free.\n"
    )


def collective_timeout() -> str:
    rows = "".join(f"step {n} loss {v:.4f}\n" for n, v in enumerate(descent(120, 9.0, 4.0)))
    return rows + (
        "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=4486, OpType=ALLTOALL, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600041 milliseconds "
        "before timing out.\n"
        "[rank1]:[E ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=4487, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 "
        "milliseconds before timing out.\n"
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
    )


def checkpointing_without_inputs() -> str:
    return (
        "UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n"
        + dictionaries(
            {"loss": 1.9, "grad_norm": 0.0, "learning_rate": 1e-4, "epoch": round(n / 40, 3)} for n in range(1, 41)
        )
    )  # fmt: skip
