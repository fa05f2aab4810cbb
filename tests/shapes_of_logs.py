"""Pasted logs in the shapes that people post, written for these tests: each function returns the text of one log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np

SETTLES = 7.0  # e-foldings of a descent within the log


def descent(count: int, start: float, end: float, noise: float = 0.02, seed: int = 0) -> list[float]:
    """An ordinary loss."""
    shape = np.exp(-SETTLES * np.linspace(0, 1, count))
    level = end + (start - end) * shape
    return list(level * (1 + noise * np.random.default_rng(seed).standard_normal(count)))


def jitter(count: int, level: float, noise: float, seed: int = 0) -> list[float]:
    return list(level * (1 + noise * np.random.default_rng(seed).standard_normal(count)))


def dictionaries(rows: Iterable[Mapping[str, object]]) -> str:
    """What the Hugging Face Trainer prints."""
    return "\n".join(str(dict(row)) for row in rows) + "\n"


def json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    return "\n".join(json.dumps(dict(row)) for row in rows) + "\n"


def columns(**series: Iterable[float]) -> str:
    """A table with an epoch column."""
    names = ["epoch", *series]
    rows = zip(*series.values(), strict=True)
    return (
        "\n".join([",".join(names), *(",".join(f"{v:.6g}" for v in (n, *row)) for n, row in enumerate(rows, 1))]) + "\n"
    )


def deepspeed_sqrt2() -> str:
    """DeepSpeed returns -1 for the norm of each group that is not finite: two groups make sqrt(1 + 1)."""
    return dictionaries(
        {"loss": 0.0, "grad_norm": 1.4142135381698608, "learning_rate": 1e-5 * (1 - n / 40), "epoch": round(n / 20, 2)}
        for n in range(1, 31)
    )


def zero_after_finite() -> str:
    """LLaMA-Factory's trainer_log.jsonl: a finite loss, then exactly 0."""
    losses = [2.71, 2.68, 2.55, *[0.0] * 27]
    return json_lines(
        {
            "current_steps": 10 * n,
            "total_steps": 600,
            "loss": loss,
            "lr": 5e-5,
            "epoch": round(n / 10, 2),
            "percentage": n,
        }
        for n, loss in enumerate(losses, 1)
    )


def zero_with_nan_norm() -> str:
    return dictionaries(
        {"loss": round(2.1 - 0.02 * n, 4) if n < 6 else 0.0, "grad_norm": 1.3 if n < 6 else float("nan"),
         "learning_rate": 1e-4, "epoch": round(n / 30, 2)}
        for n in range(1, 31)
    )  # fmt: skip


def minus_one_norm() -> str:
    losses = descent(30, 1.4, 1.1)
    return dictionaries(
        {"loss": round(loss, 4), "grad_norm": -1.0, "learning_rate": 1e-5, "epoch": round(n / 30, 2)}
        for n, loss in enumerate(losses, 1)
    )


def evaluation_without_targets() -> str:
    """Training is fine; every evaluation averages over no target."""
    rows: list[dict[str, object]] = []
    for n, loss in enumerate(descent(60, 1.9, 0.9), 1):
        rows.append({"loss": round(loss, 4), "grad_norm": 0.8, "learning_rate": 2e-5, "epoch": round(n / 20, 2)})
        if n % 10 == 0:
            rows.append(
                {
                    "eval_loss": float("nan"),
                    "eval_runtime": 3.1,
                    "eval_samples_per_second": 30.2,
                    "epoch": round(n / 20, 2),
                }
            )
    return dictionaries(rows)


def caffe_saturated() -> str:
    """-log of the smallest float32: what Caffe's loss layer gives for a probability of nothing."""
    losses = [6.91, 6.88, 6.84, 7.3, 21.5, *[87.3365] * 25]
    return "".join(
        f"I0312 10:00:{n:02d}.000 solver.cpp:228] Iteration {20 * n}, loss = {loss}\n" for n, loss in enumerate(losses)
    )


def scale_falls() -> str:
    """fairseq: the loss scale halves to nothing."""
    return "".join(
        f"2024-05-01 10:00:{n:02d} | INFO | train_inner | epoch 001: {n}00 / 5000 loss={4.0 + 4 * 0.9**n:.3f}, "
        f"nll_loss={3.5 + 4 * 0.9**n:.3f}, "
        f"ppl=180.1, wps=31000, ups=1.2, num_updates={n}00, lr=0.0005, gnorm={1.9 + n % 3}, "
        f"loss_scale={128 * 0.5 ** max(0, n - 10):.6g}, train_wall=60\n"
        for n in range(1, 31)
    )


def early_nan() -> str:
    losses = [2.31, 25.4, *[float("nan")] * 28]
    return "".join(f"step {n} loss {loss:.4f}\n" for n, loss in enumerate(losses))


def late_nan() -> str:
    """NaN in a log that says nothing of its precision."""
    losses = [*descent(120, 2.3, 0.7), *[float("nan")] * 40]
    return "".join(f"iter {10 * n} loss {loss:.4f}\n" for n, loss in enumerate(losses))


def climbing_rate() -> str:
    losses = [*descent(30, 4.1, 3.2), 3.6, 4.9, 12.1, *[float("nan")] * 17]
    rates = np.geomspace(1e-3, 0.089, len(losses))
    return columns(**{"train_loss": losses, "lr-Adam": rates})


def verl(nan: bool = True) -> str:
    """verl prints three decimals, so that a rate of 1e-6 reads 0.000."""
    lines = []
    for n in range(1, 61):
        reward = 0.15 + 0.45 * (1 - np.exp(-n / 12)) if n < 45 or not nan else 0.02
        broken = nan and n >= 50
        loss = "nan" if broken else f"{0.012 - 0.0001 * n:.3f}"
        lines.append(
            f"step:{n} - actor/entropy_loss:{0.9 - 0.01 * n:.3f} - actor/pg_loss:{loss} - "
            f"actor/grad_norm:{'nan' if broken else f'{0.214 + 0.02 * np.sin(n):.3f}'} - "
            f"actor/lr:0.000 - critic/score/mean:{reward:.3f} - response_length/mean:{400 + 6 * n:.3f} - "
            f"response_length/clip_ratio:0.100"
        )
    return "\n".join(lines) + "\n"


def grpo_zero_std() -> str:
    """All rewards of a group are equal: no advantage, no gradient."""
    return dictionaries(
        {"loss": 0.0, "grad_norm": 0.0, "learning_rate": 1e-6, "reward": 0.0, "reward_std": 0.0,
         "frac_reward_zero_std": 1.0,
         "completions/mean_length": 256.0, "kl": 0.0, "epoch": round(n / 100, 2)}
        for n in range(1, 41)
    )  # fmt: skip


def grpo_well() -> str:
    rewards = np.array(descent(80, 1.0, 0.2, 0.03))
    return dictionaries(
        {"loss": round(0.0002 * n / 80, 5), "grad_norm": round(0.4 + 0.05 * np.sin(n), 3), "learning_rate": 1e-6,
         "reward": round(float(1.2 - r), 4), "reward_std": 0.31, "frac_reward_zero_std": 0.2, "kl": round(0.001 * n, 4),
         "epoch": round(n / 80, 2)}
        for n, r in enumerate(rewards)
    )  # fmt: skip


def dpo() -> str:
    """The chosen reward falls, margin and accuracy rise: how DPO goes."""
    rows = []
    loss = descent(60, 0.693, 0.41, 0.02)
    for n in range(60):
        t = 1 - np.exp(-n / 18)
        rows.append(
            {"loss": round(loss[n], 4), "grad_norm": round(3.1 + 0.3 * np.sin(n), 3), "learning_rate": 5e-7,
             "rewards/chosen": round(-0.9 * t, 4),
             "rewards/rejected": round(-2.4 * t, 4), "rewards/accuracies": round(0.5 + 0.25 * t, 4),
             "rewards/margins": round(1.5 * t, 4),
             "logps/chosen": round(-240 - 9 * t, 2), "logps/rejected": round(-231 - 24 * t, 2),
             "epoch": round(n / 60, 3)}
        )  # fmt: skip
    return dictionaries(rows)


def titan() -> str:
    """torchtitan: tokens a second and MFU fall by a third at step 120."""
    return "".join(
        f"[titan] 2025-03-01 10:{n // 60:02d}:{n % 60:02d} - root - INFO - step: {n:2}  loss: {loss:7.4f}  grad_norm: "
        f"1.{n % 10}  memory: 41.2GiB(52%)  "
        f"tps: {7200 if n < 120 else 4800:,}  tflops: {310.5 if n < 120 else 207.0}  mfu: "
        f"{41.2 if n < 120 else 27.5}%\n"
        for n, loss in enumerate(descent(240, 11.9, 3.4), 1)
    )


def loss_far_off() -> str:
    """Of a loss that began at 300 a value of 14.4 is little, but its best was 1.5."""
    return columns(train_loss=[300, 40, 9, 4, 2.2, *jitter(12, 1.5, 0.03), *jitter(13, 14.4, 0.05)])


def validation_off(share: float = 1.45) -> str:
    best = descent(18, 2.2, 0.8)
    rise = list(np.linspace(best[-1], 0.8 * share, 6)) + jitter(6, 0.8 * share, 0.02)
    return columns(train_loss=[*descent(18, 2.2, 0.8), *jitter(12, 0.85, 0.03)], val_loss=[*best, *rise])


def score_off() -> str:
    up = [0.85 - v for v in descent(20, 0.6, 0.05, 0.01)]
    return columns(train_loss=descent(30, 2.2, 0.4), val_acc=[*up, *jitter(10, 0.52, 0.02)])


def score_falls_at_once() -> str:
    up = [85 - v for v in descent(24, 50, 7, 0.01)]
    return columns(train_loss=descent(30, 2.2, 0.4), val_acc=[*up, *jitter(6, 54, 0.01)])


def constant_norm(value: float) -> str:
    losses = jitter(40, 1.7, 0.05)
    return dictionaries(
        {"loss": round(loss, 4), "grad_norm": value, "learning_rate": 1e-5, "epoch": round(n / 40, 3)}
        for n, loss in enumerate(losses, 1)
    )


def constant_loss(value: float) -> str:
    return dictionaries({"loss": value, "learning_rate": 1e-5, "epoch": round(n / 40, 3)} for n in range(1, 41))


def waits_for_data() -> str:
    """Most steps find their batch ready, one in a hundred waits two minutes."""
    return "".join(
        f"Epoch: [0][{n}/400]  Time {131.2 if n % 100 == 50 else 0.05:.3f}  Data "
        f"{131.1 if n % 100 == 50 else 0.002:.3f}  Loss {loss:.4f}\n"
        for n, loss in enumerate(descent(400, 6.9, 2.1))
    )


def stands_still() -> str:
    return columns(train_loss=[*descent(15, 2.3, 1.0), *jitter(45, 1.02, 0.01)])


def pure_noise() -> str:
    values = np.abs(np.random.default_rng(3).standard_normal(80)) * 2 + 0.3
    return "".join(f"step {n} loss {v:.4f}\n" for n, v in enumerate(values))


def accuracy_gap() -> str:
    return columns(
        train_loss=descent(30, 2.2, 0.05), val_loss=descent(30, 2.2, 1.05),
        train_acc=[1.0 - v for v in descent(30, 0.7, 0.01)],
        val_acc=[0.7 - v for v in descent(30, 0.4, 0.01)],
    )  # fmt: skip


def loss_gap() -> str:
    return columns(train_loss=descent(30, 2.2, 0.0101), val_loss=descent(30, 2.2, 0.86))


def healthy_classifier() -> str:
    return columns(
        train_loss=descent(30, 2.2, 0.2),
        val_loss=descent(30, 2.2, 0.3),
        val_acc=[0.95 - v for v in descent(30, 0.7, 0.03)],
    )
