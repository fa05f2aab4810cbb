"""Formats that are tables: Lightning, Keras, YOLO, timm and Stable-Baselines, on files of the real libraries."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from reading import GOLDEN, best_reader, one, read_path, read_text
from traindx.meaning import meaning_of
from traindx.readers.find import find_runs
from traindx.readers.formats import sb3, yolo

METRICS = GOLDEN / "lightning" / "lightning_logs" / "version_0" / "metrics.csv"


def test_lightning_values_steps_and_settings() -> None:
    assert best_reader(METRICS) == "lightning-csv"
    run = one(read_path(METRICS))
    expected = json.loads((GOLDEN / "lightning" / "expected.json").read_text())
    for name, points in expected.items():
        np.testing.assert_allclose(np.column_stack([run.series[name].steps, run.series[name].values]), points)
    assert run.series["train_loss_epoch"].meaning.scale == "epoch"
    assert run.series["lr-SGD"].values.tolist() == [0.05, 0.05, 0.025, 0.025]
    assert (run.config["lr"], run.config["width"]) == (0.05, 8)


def test_lightning_resumed_in_the_middle() -> None:
    rows = "".join(f"{10 + i // 5},{140_700 + 50 * i},{3.5 + i / 100},\n" for i in range(20))
    run = one(read_text("epoch,step,train_loss,val_loss\n" + rows, name="metrics.csv"))
    assert run.series["train_loss"].steps[0] == 140_700
    assert len(run.series["train_loss"]) == 20


def test_keras_csv() -> None:
    path = GOLDEN / "keras" / "training.csv"
    assert best_reader(path) == "keras-csv"
    run = one(read_path(path))
    history = json.loads((GOLDEN / "keras" / "history.json").read_text())
    for name, expected in history.items():
        np.testing.assert_allclose(run.series[name].values, expected, rtol=1e-6)
        assert run.series[name].axis == "epoch"


def test_keras_csv_appended_to_is_two_runs() -> None:
    first, second = read_path(GOLDEN / "keras" / "appended.csv")
    assert len(first.series["loss"]) == 6
    np.testing.assert_allclose(
        second.series["loss"].values, json.loads((GOLDEN / "keras" / "appended.json").read_text()), rtol=1e-6
    )


def test_keras_nan_and_its_word_for_missing() -> None:
    run = one(read_path(GOLDEN / "keras" / "nan.csv"))
    assert np.isnan(run.series["loss"].values).all()
    assert "val_loss" not in run.series or not len(run.series["val_loss"])


def test_keras_history() -> None:
    path = GOLDEN / "keras" / "history.json"
    assert best_reader(path) == "keras-history"
    run = one(read_path(path))
    assert run.series["val_loss"].values.tolist() == json.loads(path.read_text())["val_loss"]
    assert run.series["val_loss"].steps.tolist() == list(range(6))
    assert np.isnan(one(read_path(GOLDEN / "keras" / "nan_history.json")).series["loss"].values).all()


def test_timm() -> None:
    path = GOLDEN / "timm" / "summary.csv"
    assert best_reader(path) == "timm"
    run = one(read_path(path))
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for name in ("train_loss", "eval_loss", "eval_top1", "lr"):
        assert run.series[name].values.tolist() == [float(row[name]) for row in rows]
    assert run.series["eval_loss"].meaning.split == "val"
    assert run.config["num_classes"] == 10


V5 = ("epoch", "train/box_loss", "train/obj_loss", "metrics/precision", "metrics/mAP_0.5", "val/box_loss", "x/lr0")
V8 = ("epoch", "time", "train/box_loss", "train/cls_loss", "metrics/mAP50(B)", "val/box_loss", "lr/pg0")


@pytest.mark.parametrize("names", [V5, V8])
@pytest.mark.parametrize("padded", [True, False])
def test_yolo(names: tuple[str, ...], padded: bool, tmp_path: Path) -> None:
    width = 20 if padded else 0
    rows = [[str(epoch), *(f"{epoch + index / 10:.5g}" for index in range(1, len(names)))] for epoch in range(4)]
    run_folder = tmp_path / "runs" / "train" / "exp"
    run_folder.mkdir(parents=True)
    path = run_folder / "results.csv"
    path.write_text("".join(",".join(cell.rjust(width) for cell in row) + "\n" for row in [names, *rows]))
    (run_folder / "args.yaml").write_text("data: data.yaml\nlr0: 1e-3\nbatch: 16\nepochs: 4\n")
    (tmp_path / "data.yaml").write_text("nc: 3\nnames: [a, b, c]\n")
    assert best_reader(path) == "yolo"
    run = one(read_path(path))
    assert run.series["train/box_loss"].values.tolist() == [float(row[names.index("train/box_loss")]) for row in rows]
    score = next(series for name, series in run.series.items() if "mAP" in name)
    assert score.meaning.split == "val"
    assert (run.config["lr0"], run.config["num_classes"]) == (1e-3, 3)
    if "time" in names:
        assert run.series["time"].meaning.kind == "time"
        assert score.times is not None


def test_yolo_is_one_run_even_when_epochs_repeat() -> None:
    rows = "".join(f"{epoch},{epoch / 10},0.5,0.01\n" for epoch in [0, 1, 2, 0, 1, 2, 3])
    run = one(read_text("epoch,train/box_loss,metrics/mAP_0.5,x/lr0\n" + rows, name="results.csv"))
    assert run.series["train/box_loss"].steps.tolist() == [0, 1, 2, 3]
    assert run.format == yolo.READER.name


def test_sb3_progress() -> None:
    path = GOLDEN / "sb3" / "progress.csv"
    assert best_reader(path) == "sb3"
    run = one(read_path(path))
    with path.open() as file:
        rows = list(csv.DictReader(file))
    reward = run.series["rollout/ep_rew_mean"]
    assert reward.meaning.kind == "reward"
    assert reward.values.tolist() == [float(row["rollout/ep_rew_mean"]) for row in rows]
    assert reward.steps.tolist() == [float(row["time/total_timesteps"]) for row in rows]
    assert len(run.series["train/loss"]) == len(rows) - 1  # blank in the first row
    assert meaning_of("train/value_loss").part == "value"
    assert meaning_of("train/loss").part == ""


def test_sb3_monitors_of_parallel_environments_are_one_run(tmp_path: Path) -> None:
    folder = GOLDEN / "sb3"
    episodes = []
    for index in (0, 1):
        with (folder / f"{index}.monitor.csv").open() as file:
            start = json.loads(file.readline()[1:])["t_start"]
            episodes.extend((start + float(row["t"]), float(row["r"]), float(row["l"])) for row in csv.DictReader(file))
    episodes.sort()
    run = one(read_path(folder / "0.monitor.csv"))
    assert run.series["episode_reward"].values.tolist() == [reward for _, reward, _ in episodes]
    assert run.series["episode_reward"].steps.tolist() == np.cumsum([length for *_, length in episodes]).tolist()
    assert run.series["episode_reward"].meaning.goal == "max"
    assert run.config["env_id"] == "CartPole-v1"
    for name in ("0.monitor.csv", "1.monitor.csv"):
        shutil.copy(folder / name, tmp_path / name)
    assert len(find_runs([tmp_path])) == 1
    assert len(sb3.claim(tmp_path, sorted(tmp_path.iterdir()))) == 1


def test_spinning_up_progress_is_a_table_with_tabs() -> None:
    run = one(
        read_text(
            "Epoch\tAverageEpRet\tLossPi\tTotalEnvInteracts\tTime\n0\t-300.5\t0.1\t4000\t5.5\n1\t-200\t0.2\t8000\t11\n",
            name="progress.txt",
        )
    )
    assert run.series["AverageEpRet"].steps.tolist() == [4000, 8000]
