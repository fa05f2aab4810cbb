"""Files that the frameworks wrote themselves (tests/golden/make has the trainings): series, meaning, steps, settings,
verdict."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from reading import GOLDEN, best_reader, one, read_path
from traindx.engine import diagnose
from traindx.readers.find import find_runs
from traindx.readers.python_settings import python_settings
from traindx.run import Run


def only(pattern: str) -> Path:
    """The one golden file that fits; mmengine names folders by the time."""
    (path,) = GOLDEN.glob(pattern)
    return path


def read(path: Path, reader: str) -> Run:
    assert best_reader(path) == reader
    return one(read_path(path))


def steps(run: Run, name: str) -> list[float]:
    return run.series[name].steps.tolist()


def values(run: Run, name: str) -> list[float]:
    return run.series[name].values.tolist()


def kind(run: Run, name: str) -> tuple[str, str]:
    meaning = run.series[name].meaning
    return meaning.kind, meaning.split


SOUND = [  # every one of these trainings went well, if briefly
    "yolo/results.csv", "yolo/console.txt", "nanogpt/stdout.txt", "fairseq/simple.log", "fairseq/json.log",
    "fairseq/tqdm.log",
    "mmengine/by_epoch/*/vis_data/scalars.json", "mmengine/by_epoch/*/*.log",
    "mmengine/by_iter/*/vis_data/scalars.json",
    "mmengine/by_iter/*/*.log", "mmcv/by_epoch/*.log.json", "mmcv/by_epoch/*.log", "mmcv/by_iter/*.log.json",
    "mmcv/by_iter/*.log",
    "deepspeed/engine.log", "deepspeed/pipeline.log", "detectron2/metrics.json", "detectron2/log.txt",
    "megatron/stdout.txt",
    "allennlp/metrics_epoch_4.json", "allennlp/out.log", "allennlp/console.txt",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SOUND)
def test_a_sound_training_is_not_called_ill(pattern: str) -> None:
    run = one(read_path(only(pattern)))
    assert run.lost == []
    verdict = diagnose(run).verdict
    assert verdict in ("healthy", "inconclusive")


def test_yolo_results() -> None:
    path = GOLDEN / "yolo" / "results.csv"
    run = read(path, "yolo")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for name in ("train/box_loss", "val/cls_loss", "metrics/mAP50-95(B)", "lr/pg0"):
        assert values(run, name) == [float(row[name]) for row in rows]
        assert steps(run, name) == list(range(1, 16))
    assert kind(run, "train/dfl_loss") == ("loss", "train")
    assert kind(run, "val/dfl_loss") == ("loss", "val")
    assert kind(run, "metrics/mAP50(B)") == ("score", "val")
    assert kind(run, "lr/pg2")[0] == "lr"
    settings = (run.config["epochs"], run.config["batch"], run.config["lr0"], run.config["optimizer"])
    assert settings == (15, 8, 0.002, "AdamW")
    assert run.config["num_classes"] == 3  # from the data file that args.yaml names


def test_what_yolo_prints_is_what_it_saves() -> None:
    printed, saved = (one(read_path(GOLDEN / "yolo" / name)) for name in ("console.txt", "results.csv"))
    for name in ("train/box_loss", "train/cls_loss", "train/dfl_loss"):
        np.testing.assert_allclose(values(printed, name), values(saved, name), rtol=1e-3)
    np.testing.assert_allclose(values(printed, "val/mAP50(B)"), values(saved, "metrics/mAP50(B)"), rtol=2e-3, atol=1e-4)
    assert "finished" in [event.kind for event in printed.events]


@pytest.mark.parametrize(("loop", "evaluated"), [("by_epoch", range(20, 101, 20)), ("by_iter", range(25, 101, 25))])
def test_mmengine(loop: str, evaluated: range) -> None:
    saved = read(only(f"mmengine/{loop}/*/vis_data/scalars.json"), "mmengine-json")
    printed = read(only(f"mmengine/{loop}/*/*.log"), "mmengine-text")
    rows = [json.loads(line) for line in only(f"mmengine/{loop}/*/vis_data/scalars.json").read_text().splitlines()]
    assert values(saved, "loss") == [row["loss"] for row in rows if "loss" in row]
    for run, prefix in ((saved, ""), (printed, "train/")):
        assert steps(run, f"{prefix}loss") == list(range(5, 101, 5))
        assert kind(run, f"{prefix}grad_norm")[0] == "grad_norm"
        assert steps(run, "val/accuracy/top1") == list(evaluated)
        assert kind(run, "val/accuracy/top1") == ("score", "val")
        assert run.config["optim_wrapper.optimizer.lr"] == 0.02
        assert run.config["model.num_classes"] == 3
    np.testing.assert_allclose(values(printed, "train/loss"), values(saved, "loss"), atol=1e-4)


@pytest.mark.parametrize(("loop", "evaluated"), [("by_epoch", range(20, 121, 20)), ("by_iter", range(30, 121, 30))])
def test_mmcv(loop: str, evaluated: range) -> None:
    saved = read(only(f"mmcv/{loop}/*.log.json"), "mmdet-json")
    printed = read(only(f"mmcv/{loop}/*.log"), "mmengine-text")
    for run, name in ((saved, "train/loss"), (printed, "loss")):
        assert steps(run, name) == steps(run, "lr") == list(range(5, 121, 5))
        assert steps(run, "val/accuracy_top-1") == list(evaluated)  # also where it says the same again
    np.testing.assert_allclose(values(printed, "loss"), values(saved, "train/loss"), atol=1e-4)
    assert saved.config["optimizer.lr"] == 0.001
    assert saved.config["model.num_classes"] == 3


@pytest.mark.parametrize(
    ("folder", "setting"), [("mmcv/by_epoch", "optimizer.lr"), ("mmengine/by_iter", "randomness.seed")]
)
def test_a_work_folder_is_one_run_with_all_its_settings(folder: str, setting: str) -> None:
    assert setting in one(find_runs([GOLDEN / folder])).config


def test_nanogpt() -> None:
    path = GOLDEN / "nanogpt" / "stdout.txt"
    run = read(path, "nanogpt")
    logged = re.findall(r"^iter (\d+): loss (\S+),", path.read_text(), re.MULTILINE)
    assert list(zip(steps(run, "loss"), values(run, "loss"), strict=True)) == [(int(i), float(x)) for i, x in logged]
    assert steps(run, "val loss") == steps(run, "train loss") == list(range(0, 281, 40))
    settings = {name: run.config[name] for name in ("vocab_size", "eval_interval", "learning_rate", "planned_steps")}
    assert settings == {"vocab_size": 89, "eval_interval": 40, "learning_rate": 0.004, "planned_steps": 280}


@pytest.mark.parametrize("style", ["simple", "json", "tqdm"])
def test_fairseq(style: str) -> None:
    run = read(GOLDEN / "fairseq" / f"{style}.log", "fairseq")
    assert steps(run, "train/loss") == list(range(5, 81, 5))
    validation = "valid_loss" if style == "json" else "val/loss"
    assert values(run, validation) == [0.674, 0.543, 0.509, 0.453]
    assert steps(run, validation) == [20, 40, 60, 80]
    assert kind(run, validation) == ("loss", "val")
    assert kind(run, "train/gnorm")[0] == "grad_norm"
    assert kind(run, "lr")[0] == "lr"
    assert not any("best" in name for name in run.series)
    assert run.config["max_epoch"] == 4
    assert "finished" in [event.kind for event in run.events]


def test_deepspeed_engines() -> None:
    run = read(GOLDEN / "deepspeed" / "engine.log", "deepspeed")
    assert steps(run, "loss") == list(range(1, 61))
    assert steps(run, "lr") == list(range(0, 61, 5))
    assert (run.config["train_batch_size"], run.config["gradient_clipping"]) == (8, 1.0)
    pipeline = read(GOLDEN / "deepspeed" / "pipeline.log", "deepspeed")
    assert steps(pipeline, "loss") == list(range(5, 61, 5))
    assert kind(pipeline, "samples/sec")[0] == "throughput"


def test_deepspeed_overflows_bring_the_loss_scale_down() -> None:
    run = read(GOLDEN / "deepspeed" / "overflow.log", "deepspeed")
    assert values(run, "loss scale") == [2097152, 1048576, 524288, 262144, 131072, 131072]
    assert values(run, "skipped")[-1] == 6


def test_deepspeed_monitor_files_are_one_run_a_folder() -> None:
    runs = {Path(run.source).parent.name: run for run in find_runs([GOLDEN / "deepspeed" / "monitor"])}
    assert set(runs) == {"engine", "overflow", "pipeline"}
    run = runs["pipeline"]
    assert run.format == "deepspeed-csv"
    printed = one(read_path(GOLDEN / "deepspeed" / "pipeline.log"))
    np.testing.assert_allclose(values(run, "Train/Samples/train_loss")[4::5], values(printed, "loss"), atol=1e-4)
    assert kind(run, "Train/Samples/train_loss") == ("loss", "train")
    assert steps(run, "Train/Samples/lr") == list(range(8, 481, 8))
    assert kind(runs["overflow"], "Train/Samples/loss_scale")[0] == "loss_scale"
    assert run.config["optimizer.params.lr"] == 0.02


def test_detectron2() -> None:
    saved = read(GOLDEN / "detectron2" / "metrics.json", "detectron2-json")
    printed = read(GOLDEN / "detectron2" / "log.txt", "detectron2-text")
    for run in (saved, printed):
        assert steps(run, "total_loss") == list(range(19, 200, 20))
        assert len(run.series["validation_loss"]) == 4  # the log repeats the last one in every line
        assert kind(run, "validation_loss") == ("loss", "val")
    np.testing.assert_allclose(values(printed, "total_loss"), values(saved, "total_loss"), rtol=1e-3)
    assert kind(saved, "bbox/AP") == kind(printed, "val/bbox/AP") == ("score", "val")
    assert values(printed, "val/bbox/AP") == values(saved, "bbox/AP")
    assert saved.config["SOLVER.BASE_LR"] == 0.2
    assert printed.config["planned_steps"] == 200


def test_megatron() -> None:
    run = read(GOLDEN / "megatron" / "stdout.txt", "megatron")
    assert steps(run, "lm loss") == steps(run, "grad norm") == list(range(10, 201, 10))
    assert steps(run, "val/lm loss value") == [50, 100, 150, 200]
    assert kind(run, "val/lm loss value") == ("loss", "val")
    assert kind(run, "learning rate")[0] == "lr"
    assert {run.config["fp16"], run.config["bf16"]} == {False}
    assert (run.config["lr"], run.config["padded_vocab_size"], run.config["planned_steps"]) == (0.02, 11, 200)


def test_allennlp_folder_is_one_run() -> None:
    run = read(GOLDEN / "allennlp" / "metrics_epoch_4.json", "allennlp")
    epochs = [json.loads((GOLDEN / "allennlp" / f"metrics_epoch_{i}.json").read_text()) for i in range(5)]
    for name in ("training_loss", "validation_loss", "validation_accuracy"):
        assert values(run, name) == [epoch[name] for epoch in epochs]
        assert steps(run, name) == [0, 1, 2, 3, 4]
    assert run.config["trainer.optimizer.lr"] == 0.02
    assert run.config["data_loader.batch_size"] == 8


@pytest.mark.parametrize("name", ["out.log", "console.txt"])
def test_allennlp_log_keeps_training_and_validation_apart(name: str) -> None:
    run = read(GOLDEN / "allennlp" / name, "allennlp-stdout")
    saved = one(read_path(GOLDEN / "allennlp" / "metrics_epoch_4.json"))
    for split, long in (("train", "training"), ("val", "validation")):
        np.testing.assert_allclose(values(run, f"{split}/loss"), values(saved, f"{long}_loss"), atol=1e-3)
        assert steps(run, f"{split}/loss") == [12, 24, 36, 48, 60]
    assert steps(run, "train/batch_loss") == [12, 24, 36, 48, 60]
    assert len(run.of("loss")) == 3  # the bars of the validation are in the table already
    assert "early-stop" in [event.kind for event in run.events]


def test_settings_in_python_are_parsed_and_never_run() -> None:
    text = (
        "import os\nbase = 0.1\nmodel = dict(type='R', depth=-1, stages=(1, 2), head={'n': 3}, "
        "made=os.getcwd())\nlr = base\n"
    )
    found = python_settings(text)
    assert found == {
        "base": 0.1, "model.type": "R", "model.depth": -1, "model.stages": "[1, 2]", "model.head.n": 3, "lr": 0.1,
    }  # fmt: skip
    assert python_settings("a = (") == python_settings("[" * 100_000) == python_settings("\x00") == {}
