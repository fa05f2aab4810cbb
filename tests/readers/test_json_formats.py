"""Formats that are JSON: HF Trainer, detectron2, OpenMMLab, DETR, AllenNLP and DVCLive."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import GOLDEN, best_reader, one, read_path, read_text, survives
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.readers.formats import allennlp, detr_log, dvclive, hf_trainer, mmdet_json, mmengine_json
from traindx.readers.source import Source
from traindx.run import Run

HF = GOLDEN / "transformers" / "good"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def steps(run: Run, name: str) -> list[float]:
    return run.series[name].steps.tolist()


def test_hf_trainer_state() -> None:
    path = HF / "trainer_state.json"
    assert best_reader(path) == "hf-trainer"
    run = one(read_path(path))
    state = json.loads(path.read_text())
    for name in ("loss", "grad_norm", "learning_rate", "eval_near_loss", "eval_far_loss"):
        rows = [row for row in state["log_history"] if name in row]
        assert run.series[name].values.tolist() == [row[name] for row in rows]
        assert steps(run, name) == [row["step"] for row in rows]
    assert "train_loss" not in run.series  # the mean over the training is no measurement
    assert run.series["eval_far_loss"].meaning.split == "val"
    assert (run.config["train_batch_size"], run.config["num_train_epochs"]) == (8, 3)
    assert [event.kind for event in run.events] == ["finished"]


def test_hf_hides_nan_and_the_reader_does_not() -> None:
    run = one(read_path(GOLDEN / "transformers" / "poisoned" / "trainer_state.json"))
    assert run.series["loss"].values[-1] == 0
    assert math.isnan(run.series["grad_norm"].values[-1])
    assert np.isnan(run.series["eval_near_loss"].values).all()


def test_hf_takes_the_last_checkpoint_by_number(tmp_path: Path) -> None:
    output = tmp_path / "output"
    shutil.copytree(HF, output)
    (output / "config.json").write_text('{"num_labels": 5, "vocab_size": 100}')
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [bundle.main for bundle in hf_trainer.claim(tmp_path, files)] == [output / "trainer_state.json"]
    run = one(find_runs([tmp_path]))
    assert run.config["num_labels"] == 5
    (output / "trainer_state.json").unlink()
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [bundle.main.parent.name for bundle in hf_trainer.claim(tmp_path, files)] == ["checkpoint-12"]


def test_hf_state_cut_off(tmp_path: Path) -> None:
    data = (HF / "trainer_state.json").read_bytes()
    path = tmp_path / "trainer_state.json"
    path.write_bytes(data[: len(data) // 2])
    run = one(read_path(path))
    assert 1 <= len(run.series["loss"]) < 6
    assert run.lost
    path.write_bytes(data[:300])
    with pytest.raises(TraindxError):
        hf_trainer.read(Source(path))


def test_detectron2() -> None:
    rows = [
        {"iteration": i, "total_loss": 2.0 - i / 200, "data_time": 0.01, "lr": 0.02, "eta_seconds": 9.0, "time": 0.3}
        for i in range(19, 200, 20)
    ]
    rows[4]["bbox/AP"] = 14.3
    rows[7]["total_loss"] = float("nan")
    run = one(read_text(lines(rows), name="metrics.json"))
    assert run.format == "detectron2-json"
    assert steps(run, "total_loss") == list(range(19, 200, 20))
    assert steps(run, "bbox/AP") == [99]
    assert math.isnan(run.series["total_loss"].values[7])


def mmengine_rows(by_epoch: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for epoch in range(1, 6):
        for iteration in range(20 * (epoch - 1) + 10, 20 * epoch + 1, 10):
            row = {
                "lr": 0.01,
                "data_time": 0.1,
                "loss": 1 / epoch,
                "time": 0.3,
                "epoch": epoch,
                "iter": iteration,
                "step": iteration,
            }
            rows.append(row if by_epoch else {key: value for key, value in row.items() if key != "epoch"})
        rows.append(
            {"accuracy/top1": 10.0 * epoch, "data_time": 0.1, "time": 0.2, "step": epoch if by_epoch else 20 * epoch}
        )
    return rows


@pytest.mark.parametrize("by_epoch", [True, False])
def test_mmengine_validates_by_epoch_or_iteration(by_epoch: bool) -> None:
    run = one(read_text(lines(mmengine_rows(by_epoch)), name="scalars.json"))
    assert run.format == mmengine_json.READER.name
    assert steps(run, "loss") == list(range(10, 101, 10))
    score = run.series["val/accuracy/top1"]
    assert score.meaning.split == "val"
    assert score.steps.tolist() == [20, 40, 60, 80, 100]
    assert len(run.series["data_time"]) == 10


def test_mmdet_log_json() -> None:
    rows: list[dict[str, Any]] = [
        {"env_info": "sys.platform: linux", "config": "lr = 0.1", "seed": 0, "exp_name": "x.py"}
    ]
    for epoch in range(1, 4):
        rows += [
            {"mode": "train", "epoch": epoch, "iter": i, "lr": 0.02, "memory": 100, "loss": 1 / epoch, "time": 0.3}
            for i in (50, 100)
        ]
        rows.append(
            {
                "mode": "val",
                "epoch": epoch,
                "iter": 37,
                "lr": 0.02,
                "bbox_mAP": epoch / 10,
                "bbox_mAP_copypaste": "0.1 0.2",
            }
        )
    run = one(read_text(lines(rows), name="20200101.log.json"))
    assert run.format == mmdet_json.READER.name
    assert steps(run, "train/loss") == [50, 100, 150, 200, 250, 300]
    assert run.series["val/bbox_mAP"].values.tolist() == [0.1, 0.2, 0.3]
    assert steps(run, "val/bbox_mAP") == [100, 200, 300]
    assert run.config["seed"] == 0


def test_detr_log() -> None:
    rows = [
        {"train_lr": 1e-4, "train_loss": 3.0 / (e + 1), "train_loss_ce_unscaled": 0.5, "test_loss": 2.0,
         "test_coco_eval_bbox": [e / 100] * 12,
         "epoch": e, "n_parameters": 41}
        for e in range(6)
    ]  # fmt: skip
    run = one(read_text(lines(rows), name="log.txt"))
    assert run.format == detr_log.READER.name
    assert run.series["train_loss"].values.tolist() == [row["train_loss"] for row in rows]
    assert run.series["test_coco_eval_bbox/AP50"].values.tolist() == [e / 100 for e in range(6)]
    assert run.config["n_parameters"] == 41


def test_allennlp_epochs_in_order(tmp_path: Path) -> None:
    for epoch in range(12):
        numbers = {
            "best_epoch": 0, "peak_worker_0_memory_MB": 10.5, "training_duration": "0:01:02", "training_start_epoch": 0,
            "training_epochs": epoch, "epoch": epoch, "training_loss": 12 - epoch, "validation_loss": 13 - epoch,
            "best_validation_loss": 1.0,
        }  # fmt: skip
        (tmp_path / f"metrics_epoch_{epoch}.json").write_text(json.dumps(numbers, indent=2))
    (tmp_path / "config.json").write_text('{"trainer": {"optimizer": {"lr": 0.001}}}')
    assert best_reader(tmp_path / "metrics_epoch_10.json") == "allennlp"
    for path in (tmp_path / "metrics_epoch_3.json", tmp_path):
        run = one(find_runs([path]))
        assert run.series["training_loss"].values.tolist() == list(range(12, 0, -1))
        assert run.series["validation_loss"].meaning.split == "val"
        assert "best_validation_loss" not in run.series
        assert run.config["trainer.optimizer.lr"] == 0.001
    (tmp_path / "metrics_epoch_4.json").write_text('{"training_lo')
    damaged = one(allennlp.read(Source(tmp_path / "metrics_epoch_0.json")))
    assert len(damaged.series["training_loss"]) == 11
    assert damaged.lost == ["metrics_epoch_4.json is damaged"]


@pytest.mark.parametrize("given", ["dvclive", "dvclive/metrics.json", "dvclive/plots/metrics/train/loss.tsv", "."])
def test_dvclive_from_wherever_it_is_pointed_at(given: str) -> None:
    folder = GOLDEN / "dvclive"
    run = one(find_runs([folder / given]))
    assert run.format == dvclive.READER.name
    expected = json.loads((folder / "expected.json").read_text())
    for name, values in expected.items():
        np.testing.assert_array_equal(run.series[name].values, values)
    assert steps(run, "eval/loss") == [2, 5, 8, 11]
    assert (run.config["lr"], run.config["optimizer.name"]) == (0.01, "adam")


ALL = (hf_trainer, mmengine_json, mmdet_json, detr_log)


@given(st.sampled_from(ALL), st.binary(max_size=200), st.integers(0, 400))
def test_damaged_files(module: Any, noise: bytes, place: int) -> None:
    data = (HF / "trainer_state.json").read_bytes() if module is hf_trainer else lines(mmengine_rows(True)).encode()
    survives(module.READER, data[: 5 * place] + noise + data[5 * place + 3 :])
    survives(module.READER, noise)
