"""The table of trainers: every entry recognises its log, and sound logs of all of them are read and judged right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trainer_logs as logs
from runs import run_of
from traindx.engine import diagnose
from traindx.meaning import OBJECTIVES
from traindx.objectives import recognise, trainers, understood
from traindx.objectives.base import Trainer, match
from traindx.readers.find import find_runs
from traindx.signals import Signals

WANTED = """hf-trainer trl-sft trl-preference trl-grpo trl-ppo trl-reward verl openrlhf llama-factory ms-swift axolotl
unsloth torchtune torchtitan megatron nemo deepspeed nanogpt nanochat modded-nanogpt litgpt diffusers ultralytics
mmengine sb3 cleanrl rsl-rl skrl rllib tianshou open-instruct nemo-rl areal""".split()


def test_the_table_is_complete() -> None:
    assert set(WANTED) <= set(trainers())


@pytest.mark.parametrize("entry", trainers().values(), ids=lambda entry: entry.id)
def test_an_entry_recognises_its_own_log(entry: Trainer) -> None:
    assert entry.objective
    assert entry.signs
    assert all(sign for sign in entry.signs)
    assert all(source.startswith("https://") for source in entry.sources)
    assert all(sentence.endswith(".") for sentence in entry.normal)
    assert recognise(entry.example) is entry
    found = understood(run_of({name: [value, value] for name, value in entry.example.items()}))
    assert found.trainer is entry
    objective = found.objective
    if objective is not None:  # detectors are judged by their losses put together
        assert objective.meaning.kind in OBJECTIVES
        assert objective.meaning.goal
    for pattern in entry.objective:
        assert entry.meaning_of(pattern) is not None or entry.id == "ultralytics"


@pytest.mark.parametrize("entry", trainers().values(), ids=lambda entry: entry.id)
def test_an_entry_of_rewards_names_one_as_its_objective(entry: Trainer) -> None:
    kinds = {meaning.kind for name in entry.objective if (meaning := entry.meaning_of(name)) is not None}
    assert ("reward" in kinds) == (entry.task == "rl")


def test_a_log_of_no_known_trainer_keeps_the_general_rules() -> None:
    run = run_of({"my_loss": [2.0, 1.0], "my_score": [0.1, 0.2]})
    found = understood(run)
    assert found.trainer is None
    assert found.run is run
    assert diagnose(run).run.chosen_by == "chosen by its name"


def test_the_run_that_is_read_is_not_changed() -> None:
    run = run_of({"reward": [0.1, 0.2], "reward_std": [0.1, 0.1], "loss": [0.0, 0.0]})
    before = {name: series.meaning for name, series in run.series.items()}
    assert Signals(run).trainer is trainers()["trl-grpo"]
    assert {name: series.meaning for name, series in run.series.items()} == before


def test_a_tiny_rate_is_no_fault_where_pairs_are_learnt_with_it() -> None:
    loss = logs.descent(200, 0.74, 0.5)
    run = run_of({"loss": loss, "dpo_loss": loss, "learning_rate": list(np.linspace(4e-8, 0, 200))})
    page = diagnose(run)
    assert page.run.chosen_by == "read as minimind DPO"
    assert "lr-schedule-anomaly" not in {one.id for one in page.present()}


def test_patterns() -> None:
    assert match("rewards/*/mean", "train/rewards/format/mean") == "format"
    assert match("loss", "eval_loss") == ""
    assert match("loss", "nll_loss") is None
    spread = trainers()["trl-grpo"].meaning_of("rewards/format/std")
    assert spread is not None
    assert spread.part == "format"


LOGS = {
    "torchtitan": (logs.torchtitan, "torchtitan", "loss"),
    "verl": (logs.verl, "verl", "critic/score/mean"),
    "verl with numpy's numbers": (logs.verl_numpy, "verl", "critic/score/mean"),
    "OpenRLHF": (logs.openrlhf, "openrlhf", "reward"),
    "TRL GRPO": (logs.grpo, "trl-grpo", "reward"),
    "TRL PPO": (logs.ppo, "trl-ppo", "objective/scores"),
    "TRL DPO": (logs.dpo, "trl-preference", "loss"),
    "TRL reward model": (logs.reward_model, "trl-reward", "loss"),
    "RSL-rl": (logs.rsl_rl, "rsl-rl", "Mean reward"),
    "CleanRL": (logs.cleanrl, "cleanrl", "episodic_return"),
    "RLlib": (logs.rllib, "rllib", "episode_reward_mean"),
    "RLlib's new stack": (logs.rllib_new_stack, "rllib", "env_runners/episode_return_mean"),
    "modded-nanogpt": (logs.modded_nanogpt, "modded-nanogpt", "val_loss"),
    "modded-nanogpt's oldest records": (logs.modded_nanogpt_first, "modded-nanogpt", "trl"),
    "nanochat": (logs.nanochat, "nanochat", "loss"),
    "NeMo": (logs.nemo, "nemo", "reduced_train_loss"),
    "NeMo-RL": (logs.nemo_rl, "nemo-rl", "Avg Reward"),
    "litgpt": (logs.litgpt, "litgpt", "loss train"),
    "mlx-lm": (logs.mlx_lm, "mlx-lm", "Train loss"),
    "torchtune": (logs.torchtune, "torchtune", "loss"),
    "TRL SFT": (logs.sft, "trl-sft", "loss"),
    "ms-swift": (logs.swift, "ms-swift", "loss"),
    "diffusers": (logs.diffusion, "diffusers", "step_loss"),
    "skrl": (logs.skrl_rows, "skrl", "Reward / Total reward (mean)"),
    "Tianshou": (logs.tianshou, "tianshou", "test_reward"),
    "open-instruct": (logs.open_instruct, "open-instruct", "objective/scores"),
    "AReaL's tables": (logs.areal_tables, "areal", "ppo_actor/task_reward/avg"),
    "AReaL": (logs.areal, "areal", "ppo_actor/task_reward/avg"),
    "axolotl": (logs.axolotl, "axolotl", "loss"),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_sound_log_is_judged_by_its_objective(name: str, tmp_path: Path) -> None:
    write, trainer, objective = LOGS[name]
    path = tmp_path / "train.log"
    path.write_text(write())
    (run,) = find_runs([path])
    signals = Signals(run)
    assert signals.trainer is not None
    assert signals.trainer.id == trainer
    page = diagnose(run)
    assert page.run.objective == objective
    assert page.verdict == "healthy", page.headline


def test_blocks_of_rsl_rl_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(logs.rsl_rl())
    (run,) = find_runs([path])
    kinds = {series.meaning.kind: len(series) for series in Signals(run).run.series.values()}
    assert {"reward", "action_std", "length", "throughput", "entropy"} <= set(kinds)
    assert set(kinds.values()) == {logs.STEPS}


def test_settings_inside_every_row_are_settings(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(logs.rllib())
    (run,) = find_runs([path])
    assert run.config["gamma"] == 0.99
    assert len(run.series["episode_reward_mean"]) == logs.STEPS
