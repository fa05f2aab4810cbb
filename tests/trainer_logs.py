"""Logs of trainers in their own formats, with values made for the tests: one sound run a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from shapes_of_logs import dictionaries, json_lines

STEPS = 120


def descent(count: int, start: float, end: float, noise: float = 0.02, seed: int = 0) -> list[float]:
    """A loss that still falls at the end."""
    level = end + (start - end) * np.exp(-3 * np.linspace(0, 1, count))
    return list(level * (1 + noise * np.random.default_rng(seed).standard_normal(count)))


def rising(count: int, start: float, end: float, noise: float = 0.04, seed: int = 0) -> list[float]:
    """A reward that rises, with noise of a share of the whole rise."""
    level = start + (end - start) * (1 - np.exp(-3 * np.linspace(0, 1, count)))
    return list(level + noise * (end - start) * np.random.default_rng(seed).standard_normal(count))


def torchtitan() -> str:
    return "".join(
        f"[rank0]:[titan] 2025-03-01 10:{n // 60:02d}:{n % 60:02d},123 - root - INFO - \x1b[31mstep: {n:2}  "
        f"\x1b[32mloss: {loss:7.4f}  \x1b[38;2;180;60;0mgrad_norm: {1.2 + n % 7 / 10:7.4f}  "
        f"\x1b[38;2;54;234;195mmemory: 41.27GiB(43.44%)  \x1b[34mtps: {7200 + n % 9:,}  "
        f"\x1b[36mtflops: {310.5 + n % 3:,.2f}  "
        f"\x1b[35mmfu: 31.4{n % 10}%\x1b[39m\n"
        for n, loss in enumerate(descent(STEPS, 11.9, 3.4), 1)
    )


def verl() -> str:
    """`step:N - name:value - …`, every number with three decimals, behind Ray's prefix."""
    rows = []
    for n, score in enumerate(rising(STEPS, 0.15, 0.62), 1):
        row = {
            "global_seqlen/mean": 81234.0, "actor/entropy": 0.9 - 0.004 * n, "actor/kl_loss": 0.0001 * n,
            "actor/pg_loss": 0.01 * np.sin(n), "actor/pg_clipfrac": 0.002, "actor/ppo_kl": 0.0,
            "actor/grad_norm": 0.2 + 0.01 * (n % 5), "actor/lr": 0.0, "critic/score/mean": score,
            "critic/score/max": 1.0, "critic/score/min": 0.0, "critic/rewards/mean": score,
            "critic/advantages/mean": -0.01, "critic/returns/mean": 0.0, "response_length/mean": 400 + 2 * n,
            "response_length/max": 1024.0, "response_length/clip_ratio": 0.03, "prompt_length/mean": 143.2,
            "timing_s/gen": 21.0, "timing_s/step": 41.0 + n % 3, "perf/throughput": 1800.0 + n % 7,
        }  # fmt: skip
        told = " - ".join(f"{name}:{value:.3f}" for name, value in row.items())
        rows.append(f"\x1b[36m(TaskRunner pid=19799)\x1b[0m step:{n} - {told}")
    return "\n".join(rows) + "\n"


def verl_numpy() -> str:
    """Newer versions print numpy's own representation."""
    return "".join(
        f"(TaskRunner pid=19799) step:{n} - actor/entropy:{0.9 - 0.004 * n:.6f} - "
        f"actor/pg_loss:np.float64({0.01 * np.sin(n):.6f}) - actor/grad_norm:np.float64(0.2{n % 5}) - "
        "actor/lr:1e-06 - "
        f"critic/score/mean:{score:.6f} - response_length/mean:{400 + n}.5 - response_length/clip_ratio:0.03125\n"
        for n, score in enumerate(rising(STEPS, 0.15, 0.62), 1)
    )


def openrlhf() -> str:
    return "".join(
        f"Train epoch [1/1]: 100%|██████████| 16/16 [00:12<00:00,  1.31it/s, act_loss=0.01]\n"
        f"{{'policy_loss': {0.01 * np.sin(n):.6f}, 'actor_lr': 5e-07, 'critic_loss': 0.02, 'values': 0.1, "
        f"'kl': {0.0004 * n:.5f}, 'reward': {score:.5f}, 'return': {score - 0.02:.5f}, 'response_length': "
        f"{800 + n:.1f}, 'total_length': {941 + n:.1f}, 'num_actions': {800 + n:.1f}}}\n"
        for n, score in enumerate(rising(STEPS, 0.1, 0.5), 1)
    )


def grpo() -> str:
    return dictionaries(
        {
            "loss": round(0.0003 * n / STEPS, 5), "grad_norm": round(0.4 + 0.05 * np.sin(n), 3), "learning_rate": 1e-6,
            "num_tokens": 1000.0 * n, "completions/mean_length": 210.5, "completions/clipped_ratio": 0.02,
            "rewards/accuracy_reward/mean": round(r - 0.1, 4), "rewards/accuracy_reward/std": 0.4,
            "reward": round(r, 4), "reward_std": 0.31, "frac_reward_zero_std": 0.2, "kl": round(0.0005 * n, 4),
            "entropy": round(0.5 - 0.001 * n, 4), "clip_ratio/region_mean": 0.0, "epoch": round(n / STEPS, 3),
        }
        for n, r in enumerate(rising(STEPS, 0.2, 0.8), 1)
    )  # fmt: skip


def ppo() -> str:
    return dictionaries(
        {
            "eps": 1, "objective/kl": round(2 + 0.08 * n, 3), "objective/entropy": 99.8,
            "objective/non_score_reward": -0.53, "objective/rlhf_reward": round(r - 0.5, 4),
            "objective/scores": round(r, 4), "policy/approxkl_avg": round(0.002 + 0.0001 * (n % 5), 5),
            "policy/clipfrac_avg": 0.006, "loss/policy_avg": 0.0009, "loss/value_avg": round(0.2 - 0.0005 * n, 4),
            "val/clipfrac_avg": 0.0, "policy/entropy_avg": 0.98, "val/ratio": 0.97 + 0.001 * (n % 4),
            "val/ratio_var": 7e-05, "val/num_eos_tokens": 0, "lr": 2e-06, "episode": 16 * n, "epoch": round(n / 130, 2),
        }
        for n, r in enumerate(rising(STEPS, 0.2, 1.8), 1)
    )  # fmt: skip


def dpo() -> str:
    loss = descent(STEPS, 0.693, 0.45, 0.02)
    return dictionaries(
        {
            "loss": round(loss[n], 4), "grad_norm": round(3.1 + 0.3 * np.sin(n), 3), "learning_rate": 5e-7,
            "rewards/chosen": round(-0.9 * t, 4), "rewards/rejected": round(-2.4 * t, 4),
            "rewards/accuracies": round(0.5 + 0.25 * t, 4), "rewards/margins": round(1.5 * t, 4),
            "logps/chosen": round(-240 - 9 * t, 2), "logps/rejected": round(-231 - 24 * t, 2),
            "logits/chosen": -1.2, "logits/rejected": -1.1, "epoch": round(n / STEPS, 3),
        }
        for n, t in enumerate(1 - np.exp(-np.arange(STEPS) / 36))
    )  # fmt: skip


def reward_model() -> str:
    loss = descent(STEPS, 0.693, 0.5, 0.03)
    return dictionaries(
        {
            "loss": round(loss[n], 4), "num_tokens": 41000.0 * (n + 1), "min_reward": -2.1, "mean_reward": 0.1,
            "max_reward": 2.3, "accuracy": round(0.5 + 0.22 * (1 - np.exp(-n / 30)), 3), "margin": round(0.004 * n, 3),
            "learning_rate": 1e-5, "grad_norm": round(4 + np.sin(n), 3), "epoch": round(n / STEPS, 3),
        }
        for n in range(STEPS)
    )  # fmt: skip


def rsl_rl() -> str:
    blocks = []
    for n, reward in enumerate(rising(STEPS, -5.0, 21.0)):
        blocks.append(
            f"{'#' * 80}\n{f' Learning iteration {n}/200 ':^80}\n\n"
            f"{'Computation:':>35} {80000 + 13 * n} steps/s (collection: 1.021s, learning 0.211s)\n"
            f"{'Mean action noise std:':>35} {1.0 - 0.004 * n:.2f}\n"
            f"{'Mean value_function loss:':>35} {0.03 + 0.001 * n:.4f}\n"
            f"{'Mean surrogate loss:':>35} {-0.01 + 0.0001 * n:.4f}\n{'Mean entropy loss:':>35} {16 - 0.05 * n:.4f}\n"
            f"{'Mean reward:':>35} {reward:.2f}\n{'Mean episode length:':>35} {100 + 5 * n:.2f}\n"
            f"{'Episode_Reward/track_lin_vel_xy_exp:':>35} {0.01 * n:.4f}\n"
            f"{'Episode_Termination/time_out:':>35} {0.1 + 0.005 * n:.4f}\n{'-' * 80}\n"
            f"{'Total timesteps:':>35} {98304 * (n + 1)}\n{'Iteration time:':>35} 1.23s\n"
            f"{'Time elapsed:':>35} 00:{n // 60:02d}:{n % 60:02d}\n{'ETA:':>35} 01:02:03\n\n"
        )
    return "".join(blocks)


def cleanrl() -> str:
    return "".join(
        f"global_step={500 * n + n % 7}, episodic_return=[{reward:.1f}]\n" + (f"SPS: {900 + n}\n" if n % 4 == 0 else "")
        for n, reward in enumerate(rising(4 * STEPS, 20.0, 480.0, 0.1), 1)
    )


def rllib() -> str:
    """result.json: one object a line, nested."""
    rows: list[Mapping[str, object]] = []
    for n, reward in enumerate(rising(STEPS, 20.0, 190.0), 1):
        learner = {"cur_kl_coeff": 0.2, "cur_lr": 5e-05, "total_loss": 8.1, "policy_loss": -0.02,
                   "vf_loss": 8.0 + n / 50,
                   "vf_explained_var": 0.1 + 0.005 * n, "kl": 0.01, "entropy": 0.69 - 0.003 * n}  # fmt: skip
        rows.append(
            {
                "episode_reward_max": 200.0, "episode_reward_min": 9.0, "episode_reward_mean": reward,
                "episode_len_mean": reward, "episodes_this_iter": 20, "timesteps_total": 4000 * n,
                "info": {"learner": {"default_policy": {"learner_stats": learner}}, "num_env_steps_sampled": 4000 * n},
                "training_iteration": n, "time_total_s": 6.1 * n, "done": False, "trial_id": "abc_00000",
                "hostname": "node", "pid": 123, "timers": {"training_iteration_time_ms": 6100.0},
                "config": {"lr": 5e-05, "gamma": 0.99, "num_sgd_iter": 30},
            }
        )  # fmt: skip
    return json_lines(rows)


def rllib_new_stack() -> str:
    rows = [
        {
            "env_runners": {"episode_return_mean": r, "episode_return_max": 200.0, "episode_len_mean": r,
                            "num_env_steps_sampled_lifetime": 4000 * n},
            "learners": {"default_policy": {"policy_loss": -0.02, "vf_loss": 8.0, "total_loss": 8.1, "entropy": 0.6,
                                            "mean_kl_loss": 0.01, "vf_explained_var": 0.4,
                                            "default_optimizer_learning_rate": 5e-5}},
            "training_iteration": n, "time_total_s": 6.1 * n, "done": False,
        }
        for n, r in enumerate(rising(STEPS, 20.0, 190.0), 1)
    ]  # fmt: skip
    return json_lines(rows)


def modded_nanogpt() -> str:
    lines = ["import os\nwith open(sys.argv[0]) as f:\n    code = f.read()\n" + "=" * 100 + "\nRunning Python 3.12\n"]
    for n, loss in enumerate(descent(15, 10.8, 3.28, 0.002)):
        step = 125 * n
        lines.append(
            f"step:{step}/1750 val_loss:{loss:.4f} train_time:{90 * step}ms "
            f"step_avg:{90.1 if n else float('nan'):.2f}ms\n"
        )
        lines += [f"step:{step + k}/1750 train_time:{90 * (step + k)}ms step_avg:90.{k}ms\n" for k in range(1, 6)]
    return "".join(lines)


def modded_nanogpt_first() -> str:
    """Its oldest records: `s:0 trl:10.9`, `s:0 tel:10.9`."""
    lines = []
    for n, loss in enumerate(descent(600, 10.97, 3.5, 0.01)):
        if n % 50 == 0:
            lines.append(f"s:{n} tel:{loss + 0.02:.4f}\n")
        lines.append(f"s:{n} trl:{loss:.6f} lr:{0.0018 * min(1, (n + 1) / 256):.6f} norm:{1.0 + n % 5 / 10:.6f}\n")
    return "".join(lines)


def nanochat() -> str:
    lines = []
    for n, loss in enumerate(descent(600, 11.0, 2.9, 0.01)):
        if n % 100 == 0:
            lines.append(f"Step {n:05d} | Validation bpb: {loss / 3:.4f}\n")
        lines.append(
            f"step {n:05d}/1000 ({n / 10:.2f}%) | loss: {loss:.6f} | grad norm: 0.4{n % 10} | lrm: 1.00 | "
            f"dt: 480.12ms | tok/sec: {1_090_000 + n:,} | mfu: 47.{n % 10} | total time: {n * 0.008:.2f}m\n"
        )
    return "".join(lines)


def nemo() -> str:
    """NeMo 2 and Megatron-Bridge through Lightning."""
    return "".join(
        f"Training epoch 0, iteration {n}/200 | lr: {1e-5 * (n + 1):.3e} | global_batch_size: 512 | global_step: {n} | "
        f"reduced_train_loss: {loss:.4g} | train_step_timing in s: 5.{n % 10}1 | consumed_samples: {512 * (n + 1)}\n"
        for n, loss in enumerate(descent(STEPS, 11.0, 4.0))
    )


def nemo_rl() -> str:
    """NeMo-RL prints a block a step."""
    blocks = []
    for n, r in enumerate(rising(STEPS, 0.2, 0.7), 1):
        blocks.append(
            f"========================= Step {n}/200 =========================\n▶ Preparing batch...\n"
            f"\n📊 Training Results:\n  • Loss: {0.001 * np.sin(n):.4f}\n  • Generation KL Error: {0.0012:.4f}\n"
            f"  • Avg Reward: {r:.4f}\n  • Mean Generation Length: {350 + n:.4f}\n\n⏱️  Timing:\n"
            f"  • Total step time: 61.{n % 10}2s\n  • generation: 30.1s (49.3%)\n"
        )
    return "".join(blocks)


def litgpt() -> str:
    lines = []
    for n, loss in enumerate(descent(400, 10.9, 3.9, 0.01), 1):
        val = f"{loss + 0.1:.3f}" if n >= 100 else "n/a"
        lines.append(
            f"Epoch 1 | iter {n} step {n} | loss train: {loss:.3f}, val: {val} | iter time: 361.{n % 10}1 ms (step) "
            "remaining time: 0:12:01\n"
        )
    return "".join(lines)


def mlx_lm() -> str:
    train, val = descent(60, 2.9, 1.9), descent(7, 3.1, 2.1, 0.01)
    lines = [f"Iter {1 if i == 0 else 100 * i}: Val loss {value:.3f}, Val took 31.2s" for i, value in enumerate(val)]
    pace = "Learning Rate 1.000e-05, It/sec 1.52, Tokens/sec 612.3, Trained Tokens"
    for i, value in enumerate(train, 1):
        lines.append(f"Iter {10 * i}: Train loss {value:.3f}, {pace} {4030 * i}, Peak mem 9.1 GB")
    return "\n".join(sorted(lines, key=lambda line: int(line.split(":")[0].split()[1])))


def torchtune() -> str:
    """DiskLogger: `Step 1 | loss:1.6 lr:2e-05 tokens_per_second_per_gpu:812 `."""
    return "".join(
        f"Step {n} | loss:{loss} lr:2e-05 tokens_per_second_per_gpu:{800 + n % 9}.31 grad_norm:{1.1 + n % 4 / 10} "
        f"peak_memory_active:24.1 \n"
        for n, loss in enumerate(descent(STEPS, 1.9, 0.9), 1)
    )


def sft() -> str:
    return dictionaries(
        {
            "loss": round(loss, 4), "grad_norm": round(1.1 + 0.2 * np.sin(n), 3), "learning_rate": 2e-5,
            "entropy": round(1.2 - 0.004 * n, 3), "num_tokens": 9000.0 * (n + 1),
            "mean_token_accuracy": round(0.6 + 0.2 * n / STEPS, 4), "epoch": round(n / STEPS, 3),
        }
        for n, loss in enumerate(descent(STEPS, 1.9, 0.9))
    )  # fmt: skip


def swift() -> str:
    """ms-swift's logging.jsonl."""
    return json_lines(
        {
            "loss": round(loss, 4), "grad_norm": round(1.1 + 0.2 * np.sin(n), 3), "learning_rate": 1e-4,
            "token_acc": round(0.6 + 0.2 * n / STEPS, 4), "epoch": round(n / STEPS, 3),
            "global_step/max_steps": f"{5 * n}/{5 * STEPS}", "percentage": f"{100 * n / STEPS:.2f}%",
            "elapsed_time": f"{n}m 3s", "remaining_time": "1h 2m 3s", "memory(GiB)": 41.2,
            "train_speed(iter/s)": 0.31,
        }
        for n, loss in enumerate(descent(STEPS, 1.9, 0.9), 1)
    )  # fmt: skip


def diffusion() -> str:
    """diffusers' examples: a loss of noise that hardly falls, on a progress bar."""
    losses = np.random.default_rng(0).gamma(4.0, 0.03, 600) + 0.05 * np.exp(-np.arange(600) / 60)
    return "".join(
        f"\rSteps:  {n // 6}%|██      | {n}/600 [0{n // 60}:{n % 60:02d}<10:00,  1.01it/s, lr=1e-5, step_loss={v:.4f}]"
        for n, v in enumerate(losses, 1)
    )


def skrl_rows() -> str:
    return _csv({"Reward / Total reward (mean)": rising(STEPS, -10, 200), "Loss / Policy loss": [0.01] * STEPS,
                 "Loss / Value loss": list(np.linspace(1, 3, STEPS)), "Learning / Learning rate": [3e-4] * STEPS,
                 "Policy / Standard deviation": list(np.linspace(1, 0.4, STEPS)),
                 "Episode / Total timesteps (mean)": rising(STEPS, 20, 400)})  # fmt: skip


def _csv(columns: Mapping[str, Iterable[float]]) -> str:
    names = ["step", *columns]
    rows = zip(*columns.values(), strict=True)
    return "\n".join([",".join(names), *(",".join(f"{v:.6g}" for v in (100 * n, *r)) for n, r in enumerate(rows, 1))])


def tianshou() -> str:
    return "".join(
        f"Epoch #{n}: test_reward: {r:.6f} ± 12.310000, best_reward: {max(r, 20):.6f} ± 0.000000 in #{n}\n"
        for n, r in enumerate(rising(40, 20, 195), 1)
    )


def open_instruct() -> str:
    return _csv({"objective/scores": rising(STEPS, 1, 7), "objective/kl_avg": list(np.linspace(0, 0.05, STEPS)),
                 "objective/verifiable_correct_rate": rising(STEPS, 0.1, 0.6), "loss/policy_avg": [0.001] * STEPS,
                 "policy/clipfrac_avg": [0.001] * STEPS, "val/ratio": list(1 + 0.01 * np.sin(np.arange(STEPS))),
                 "val/sequence_lengths": rising(STEPS, 400, 700), "val/stop_rate": rising(STEPS, 0.8, 0.97),
                 "lr": [5e-7] * STEPS})  # fmt: skip


def areal() -> str:
    return _csv({"ppo_actor/task_reward/avg": rising(STEPS, 0.1, 0.6), "ppo_actor/seq_len/avg": rising(STEPS, 400, 700),
                 "ppo_actor/update/entropy/avg": list(np.linspace(0.8, 0.5, STEPS)),
                 "ppo_actor/update/importance_weight/avg": list(1 + 0.01 * np.sin(np.arange(STEPS))),
                 "ppo_actor/update/clip_ratio/avg": [0.01] * STEPS, "ppo_actor/no_eos_ratios/avg": [0.05] * STEPS,
                 "ppo_actor/update/grad_norm": list(0.3 + 0.05 * np.sin(np.arange(STEPS)))})  # fmt: skip


def areal_tables() -> str:
    """On the terminal: a line for every step, and a table with several pairs in a row."""
    blocks = []
    for n, r in enumerate(rising(STEPS, 0.1, 0.6), 1):
        cells = {
            "ppo_actor/task_reward/avg": r, "ppo_actor/seq_len/avg": 400.0 + n, "ppo_actor/update/entropy/avg": 0.5,
            "ppo_actor/update/grad_norm": 0.3 + 0.05 * np.sin(n), "timeperf/train_step": 12.1,
        }  # fmt: skip
        pairs = [f"{name:<30} │ {value:.4e}" for name, value in cells.items()]
        rows = [f"│ {' │ '.join(pairs[k : k + 2])} │" for k in range(0, len(pairs), 2)]
        blocks.append(
            f"20251103-05:10:01.123 StatsLogger INFO: Epoch 1/10 Step {n}/290 Train step {n}/290 done.\n"
            f"20251103-05:10:01.124 StatsLogger INFO: Stats (1/1):\n╒{'═' * 90}╕\n" + "\n".join(rows)
        )
    return "\n".join(blocks) + "\n"


def axolotl() -> str:
    return dictionaries(
        {
            "loss": f"{loss:.4f}", "grad_norm": f"{1.1 + 0.2 * np.sin(n):.4f}", "learning_rate": "0.0002", "ppl":
            f"{np.exp(loss):.4f}", "memory/max_active (GiB)": "20.1", "tokens/train_per_sec_per_gpu": "1210.4",
            "tokens/total": 9000 * (n + 1), "epoch": f"{n / STEPS:.3f}",
        }
        for n, loss in enumerate(descent(STEPS, 1.9, 0.9))
    )  # fmt: skip
