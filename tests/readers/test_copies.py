"""Every run of a directory is told, or named as a copy; what is no training log is none."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from traindx.cli.gather import gather
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.run import Floats


def losses(seed: int, count: int, noise: float = 0.1) -> Floats:
    return 2 * np.exp(-np.arange(count) / count * 3) + 0.3 + np.random.default_rng(seed).normal(0, noise, count)


def as_csv(path: Path, values: Floats, form: str = ".5f") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("step,loss\n" + "".join(f"{step},{value:{form}}\n" for step, value in enumerate(values)))


def as_json(path: Path, values: Floats, every: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.dumps({"step": step, "loss": float(value)}) for step, value in enumerate(values) if step % every == 0]
    path.write_text("\n".join(rows))


def as_text(path: Path, values: Floats) -> None:
    path.write_text("".join(f"step {step} loss {value:.3f}\n" for step, value in enumerate(values)))


def test_short_runs_beside_a_long_noisy_one_of_another_tool_are_all_told(tmp_path: Path) -> None:
    as_csv(tmp_path / "long" / "metrics.csv", losses(0, 20_000, 0.4))
    for seed in range(1, 5):
        as_json(tmp_path / f"short{seed}" / "log.jsonl", losses(seed, 30))
    runs = find_runs([tmp_path])
    assert len(runs) == 5
    assert not any(run.copies for run in runs)


def test_a_second_log_of_the_same_training_is_left_out_and_named(tmp_path: Path) -> None:
    values = losses(1, 60)
    as_csv(tmp_path / "run" / "metrics.csv", values, ".8f")
    as_text(tmp_path / "run" / "train.log", values)
    as_json(tmp_path / "other" / "log.jsonl", losses(2, 60))
    told: list[str] = []
    runs = gather([tmp_path], tell=told.append)
    assert [run.source for run in runs] == [str(tmp_path / "other/log.jsonl"), str(tmp_path / "run/metrics.csv")]
    assert runs[1].copies == [str(tmp_path / "run/train.log")]
    assert told == [
        f"{tmp_path}/run/train.log is left out: it is a copy of {tmp_path}/run/metrics.csv (the same values at the "
        f"same steps)."
    ]
    assert any("train.log" in note and "copy" in note for note in diagnose(runs[1]).notes)


@pytest.mark.parametrize("change", ["value", "order"])
def test_the_same_values_at_other_steps_are_no_copy(tmp_path: Path, change: str) -> None:
    values = losses(1, 60)
    other = values.copy()
    if change == "value":
        other[30] += 0.05
    else:
        other[[20, 40]] = other[[40, 20]]
    as_csv(tmp_path / "metrics.csv", values)
    as_json(tmp_path / "log.jsonl", other)
    assert len(find_runs([tmp_path])) == 2


def test_a_log_that_keeps_every_tenth_value_is_a_copy(tmp_path: Path) -> None:
    as_csv(tmp_path / "metrics.csv", losses(1, 200), ".8f")
    as_json(tmp_path / "log.jsonl", np.round(losses(1, 200), 4), every=10)
    assert [len(run.copies) for run in find_runs([tmp_path])] == [1]


def test_a_copied_folder_is_one_run_and_a_constant_score_is_no_copy(tmp_path: Path) -> None:
    as_csv(tmp_path / "a" / "metrics.csv", losses(1, 60))
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for name in ("c", "d"):
        as_csv(tmp_path / name / "metrics.csv", np.full(60, 2.303))
    assert [Path(run.source).parent.name for run in find_runs([tmp_path])] == ["a", "c", "d"]


def test_a_table_without_numbers_in_another_folder_is_told(tmp_path: Path) -> None:
    as_csv(tmp_path / "a" / "metrics.csv", losses(1, 60))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "metrics.csv").write_text("epoch,loss,accuracy\n1,,\n")
    assert len(find_runs([tmp_path])) == 2


def test_lists_of_results_and_of_logs_are_no_training(tmp_path: Path) -> None:
    as_csv(tmp_path / "run" / "metrics.csv", losses(1, 60))
    results = [{"model": name, "accuracy": 0.9, "loss": 0.3} for name in ("small", "medium", "large")]
    (tmp_path / "results.jsonl").write_text("\n".join(json.dumps(row) for row in results))
    index = [
        {"id": f"r{n}", "evidence": f"{n * 100} steps: train loss 2.{n} -> 1.{n}, CUDA out of memory"} for n in range(9)
    ]
    (tmp_path / "index.jsonl").write_text("\n".join(json.dumps(row) for row in index))
    (tmp_path / "README.md").write_text(
        "# Results\n\n| model | accuracy | loss |\n|---|---|---|\n"
        + "".join(f"| m{n} | 0.9{n} | 0.{n} |\n" for n in range(1, 6))
    )
    assert [Path(run.source).name for run in find_runs([tmp_path])] == ["metrics.csv"]


def test_lines_of_a_log_in_json_are_still_read(tmp_path: Path) -> None:
    rows = [json.dumps({"log": f"epoch {n} loss {2 - n / 20:.3f}\n", "stream": "stdout"}) for n in range(20)]
    (tmp_path / "docker.log").write_text("\n".join(rows))
    assert len(find_runs([tmp_path])) == 1


def test_a_workbook_is_refused_in_one_sentence_and_its_neighbour_read(tmp_path: Path) -> None:
    book = tmp_path / "run.xlsx"
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(
        TraindxError, match=r"run\.xlsx is an Excel workbook, which traindx does not read: save the sheet as CSV"
    ):
        find_runs([book])
    as_csv(tmp_path / "good.csv", losses(1, 60))
    told: list[str] = []
    assert len(gather([book, tmp_path / "good.csv"], tell=told.append)) == 1
    assert len(told) == 1
    assert "Excel workbook" in told[0]
    assert len(find_runs([tmp_path])) == 1


def test_a_printed_data_frame_is_read(tmp_path: Path) -> None:
    values = losses(1, 25)
    lines = [f"{row:<4}{row + 1:5d}  {value:10.6f}" for row, value in enumerate(values)]
    (tmp_path / "frame.txt").write_text("\n".join(["    epoch  train_loss", *lines]))
    (tmp_path / "frame.csv").write_text(
        ",epoch,train_loss\n" + "".join(f"{n},{n + 1},{v}\n" for n, v in enumerate(values))
    )
    for name in ("frame.txt", "frame.csv"):
        (run,) = find_runs([tmp_path / name])
        assert list(run.series) == ["train_loss"]
        assert run.series["train_loss"].axis == "epoch"
        assert np.allclose(run.series["train_loss"].values, values, atol=1e-6)
        assert run.series["train_loss"].steps[0] == 1
