"""Curves without a log format: Python lists, results.txt of YOLO, remarks about saved models, numbers without names."""

from __future__ import annotations

from pathlib import Path

import pytest

from reading import one, read_text
from traindx.errors import TraindxError
from traindx.readers.find import candidates
from traindx.readers.source import MemorySource

LOSSES = [round(2.3 * 0.95**index, 4) for index in range(30)]


def best(text: str, name: str = "out.txt") -> str:
    return candidates(MemorySource(text.encode(), Path("nowhere"), name))[0][1].name


@pytest.mark.parametrize(
    "text",
    [
        f"train_losses = {LOSSES}\nval_losses = {LOSSES}\n",
        f"Train losses: {LOSSES}\n\nVal losses: {LOSSES}\n",
        f"{{'train_losses': {LOSSES}, 'val_losses': {LOSSES}}}\n",
        "train_losses = [" + ", ".join(f"tensor({x}, device='cuda:0')" for x in LOSSES) + "]\n"
        "val_losses = np.array([" + ",\n ".join(f"np.float64({x})" for x in LOSSES) + "])\n",
    ],
    ids=["assigned", "named", "dict", "wrapped"],
)
def test_lists_as_python_prints_them(text: str) -> None:
    assert best(text) == "python-lists"
    run = one(read_text(text, "out.txt"))
    splits = {series.meaning.split: list(series.values) for series in run.series.values()}
    assert splits == {"train": LOSSES, "val": LOSSES}


def test_lists_of_several_models_are_runs_of_what_the_file_is_called() -> None:
    text = f"RNN:{LOSSES}\nLSTM:{LOSSES[::-1]}\n"
    runs = read_text(text, "loss_log.txt")
    assert [list(run.series["loss_log"].values) for run in runs] == [LOSSES, LOSSES[::-1]]


def test_a_list_in_a_log_does_not_make_it_a_file_of_lists() -> None:
    text = "betas = [0.9, 0.99, 0.999, 0.5, 0.1, 0.2]\n" + "".join(
        f"epoch {i} loss {x}\n" for i, x in enumerate(LOSSES)
    )
    assert best(text) == "text"


def test_results_txt_of_yolo() -> None:
    row = (
        "{i:>6}/9     3.97G   {box:.4f}    0.0183   0.02755    0.1357       193       640      0.51      0.42      "
        "{m:.3f}      0.2    0.1184   0.03287       nan\n"
    )
    text = "".join(row.format(i=i, box=0.1 - i / 200, m=i / 20) for i in range(10))
    assert best(text) == "yolo-text"
    run = one(read_text(text, "results.txt"))
    assert list(run.series["train/box_loss"].values) == pytest.approx([0.1 - i / 200 for i in range(10)])
    score = run.series["val/metrics/mAP_0.5"] if "val/metrics/mAP_0.5" in run.series else run.series["metrics/mAP_0.5"]
    assert score.meaning.kind == "score"
    assert list(score.values) == pytest.approx([i / 20 for i in range(10)])
    assert run.config["planned_epochs"] == 10
    assert run.series["val/cls_loss"].values[0] != run.series["val/cls_loss"].values[0]


def test_remarks_about_saved_models_are_the_curve_where_nothing_else_is() -> None:
    remarks = "".join(f"Saved model at epoch {i + 1} with loss: {x}\n" for i, x in enumerate(LOSSES))
    assert list(one(read_text(remarks, "log.txt")).series["loss"].values) == LOSSES
    both = "".join(
        f"Epoch {i + 1}: loss: {x}\nSaved model at epoch {i + 1} with loss: {x}\n" for i, x in enumerate(LOSSES)
    )
    assert len(one(read_text(both, "log.txt")).series["loss"]) == len(LOSSES)


def test_images_that_are_tested_are_no_validation_loss() -> None:
    text = ""
    for epoch, loss in enumerate(LOSSES):
        text += f"[epoch: {epoch}, iter: {epoch * 100}] l_pix: {loss}\n"
        text += "".join(f"Test {number:03d}_x2\n" for number in range(1, 6))
    run = one(read_text(text, "train.log"))
    assert "l_pix" in run.series
    assert not any(series.meaning.split == "test" for series in run.series.values())


def test_the_first_column_without_a_name_is_a_step_only_where_it_counts() -> None:
    counted = "".join(f"{i},{x}\n" for i, x in enumerate(LOSSES))
    assert list(one(read_text(counted, "loss.csv")).series["loss"].steps) == list(range(30))
    measured = "".join(f"{x},{-100 + i}.5\n" for i, x in enumerate(LOSSES))
    assert list(one(read_text(measured, "loss.csv")).series["loss"].values) == LOSSES


def test_names_with_numbers_in_brackets_are_a_header() -> None:
    text = "train_loss,out_tensor([0.]),epoch\n" + "".join(f"{x},0.5,{i}\n" for i, x in enumerate(LOSSES))
    assert list(one(read_text(text, "metrics.csv")).series["train_loss"].values) == LOSSES


def test_progress_bars_alone_are_no_table() -> None:
    bars = "0it [00:00, ?it/s]" + "".join(f"\r{i}it [00:0{i}, 17.3it/s]" for i in range(9))
    with pytest.raises(TraindxError):
        read_text(bars, "job.out")
