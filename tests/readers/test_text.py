"""Whole text logs: context carried from line to line, runs told apart, settings and remarks left out, damage
survived."""

from __future__ import annotations

import json
import math
import random
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import GOLDEN, best_reader, one, read_path, survives
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.readers.formats.text import READER, read_text
from traindx.readers.source import MemorySource
from traindx.readers.text import shapes
from traindx.run import Run


def read(text: str) -> list[Run]:
    return read_text(MemorySource(text.encode(), Path("nowhere"), "train.log"))


def curve(run: Run, name: str) -> list[tuple[float, float]]:
    series = run.series[name]
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_epoch_header_then_metric_lines() -> None:
    text = "".join(
        f"Epoch {e}/3\n----------\ntrain Loss: {3 - e} Acc: 0.{e}\nval Loss: {4 - e} Acc: 0.{e}\n\n" for e in range(3)
    )
    run = one(read(text))
    assert curve(run, "train Loss") == [(0, 3), (1, 2), (2, 1)]
    assert curve(run, "val Loss") == [(0, 4), (1, 3), (2, 2)]
    assert run.config["planned_epochs"] == 3


def test_batches_run_through_the_epochs_and_summaries_stand_at_their_end() -> None:
    lines = []
    for epoch in range(1, 4):
        lines += [f"Epoch [{epoch}/3], Step [{step}/30], Loss: {10 - epoch - step / 100:.3f}" for step in (10, 20, 30)]
        lines.append(f"Test Accuracy of the model on the 10000 test images: {90 + epoch} %")
    run = one(read("\n".join(lines)))
    assert run.series["Loss"].steps.tolist() == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert [step for step, _ in curve(run, "Test Accuracy of the model on the test images")] == [30, 60, 90]
    assert run.config["steps_per_epoch"] == 30
    assert run.config["planned_epochs"] == 3


def test_pytorch_mnist_example() -> None:
    lines = []
    for epoch in (1, 2):
        lines += [
            f"Train Epoch: {epoch} [{seen}/1400 ({seen // 14}%)]\tLoss: {3 - epoch + seen / 1e4:.4f}"
            for seen in (0, 640, 1280)
        ]
        lines.append(f"\nTest set: Average loss: 0.{epoch}, Accuracy: 36{epoch}/397 (9{epoch}%)\n")
    run = one(read("\n".join(lines)))
    assert run.series["train/Loss"].steps.tolist() == [0, 640, 1280, 1400, 2040, 2680]
    assert run.series["test/Accuracy"].values.tolist() == [91, 92]
    assert run.series["test/Average loss"].meaning.split == "test"


def test_the_last_line_of_an_evaluation_is_its_result() -> None:
    lines = []
    for epoch in range(3):
        lines += [f"Epoch: [{epoch}][{b}/4]\tLoss {2 - epoch / 2 + b / 10:.2f} (9.99)" for b in range(4)]
        lines += [f"Test: [{b}/2]\tLoss 8.88 ({epoch + b / 10:.1f})" for b in range(3)]
    run = one(read("\n".join(lines)))
    assert len(run.series["Loss"]) == 12
    assert curve(run, "test/Loss") == [(3, 0.2), (7, 1.2), (11, 2.2)]


def test_a_line_of_names_after_a_counting_line() -> None:
    run = one(read("".join(f"current step: {i}th step\nbatch loss:{5 / i:.4f}\n" for i in range(1, 30))))
    assert run.series["batch loss"].steps.tolist() == list(range(1, 30))


def test_blocks_of_single_names_under_a_step_line() -> None:
    block = (
        "2025-12-26 16:29:18.216\thost:0\tolmo.train:990\tINFO\t[step={0}/1000,epoch=0]\n    "
        "optim/total_grad_norm=0.{0}\n    train/CrossEntropyLoss=9.{0}\n"
    )
    run = one(read("".join(block.format(i) for i in range(10, 60, 10))))
    assert run.series["train/CrossEntropyLoss"].steps.tolist() == [10, 20, 30, 40, 50]
    assert run.series["optim/total_grad_norm"].meaning.kind == "grad_norm"
    assert run.config["planned_steps"] == 1000


def test_a_validation_header_names_the_lines_after_it() -> None:
    text = "".join(
        f"step {i} loss {3 - i / 10:.2f}\nValidation\naccuracy: 0.{i:02d}; loss: {4 - i / 10:.2f}\n"
        for i in range(10, 20)
    )
    run = one(read(text))
    assert run.series["val/loss"].meaning.split == "val"
    assert len(run.series["loss"]) == 10
    assert len(run.series["val/accuracy"]) == 10


def test_settings_are_not_measurements() -> None:
    dump = (
        "lr: 0.1\nbatch_size: 32\nloss_weight: 1.0\nINSTANCE_LOSS_WEIGHT: 1.0\noptimizer: adam\nNamespace(lr=0.1, "
        "momentum=0.9, classes=10)\n"
    )
    text = dump * 4 + "".join(f"epoch {i} loss {1 / (i + 1):.3f}\n" for i in range(6))
    run = one(read(text))
    assert set(run.series) == {"loss"}
    assert run.config["lr"] == 0.1
    assert run.config["batch_size"] == 32
    assert run.config["optimizer"] == "adam"
    assert run.config["classes"] == 10


def test_argument_dumps_and_command_lines_become_settings() -> None:
    text = (
        "  train_iters ................ 500\n  lr ......... 0.00015\npython train.py --num-workers 4 --model=resnet\n"
    )
    run = one(read(text + "".join(f"iter {i}: loss {i}\n" for i in range(5))))
    assert run.config["lr"] == 0.00015
    assert run.config["num-workers"] == 4
    assert run.config["model"] == "resnet"
    assert run.config["planned_steps"] == 500


def test_iterations_that_hold_numbered_steps_are_epochs() -> None:
    text = "".join(
        f"iteration:{e} step:{s}/1700, NER loss:{9 / e:.3f}\n" for e in range(1, 4) for s in range(100 + e, 1700, 100)
    )
    run = one(read(text))
    assert run.series["NER loss"].steps[[0, -1]].tolist() == [101, 2 * 1700 + 1603]
    assert (np.diff(run.series["NER loss"].steps) > 0).all()


def test_two_counters_that_go_on_together_are_steps() -> None:
    text = "".join(f"iteration {i} step {i * 10}/5000 loss {5 - i / 100:.2f}\n" for i in range(1, 60))
    run = one(read(text))
    assert run.series["loss"].axis == "step"
    assert run.series["loss"].steps[-1] == 590


def test_a_remark_behind_the_row_of_a_table() -> None:
    rows = "".join(
        f" {e} | {1 / e:.4f} | {0.5 + e / 20:.2%} | 0.001{'  ← best' if e % 2 else ''}\n" for e in range(1, 8)
    )
    run = one(read(f" Epoch | TrainLoss | ValAcc | LR\n----\n{rows}"))
    assert [step for step, _ in curve(run, "TrainLoss")] == list(range(1, 8))


def test_a_data_frame_printed_as_csv_below_a_model() -> None:
    rows = "".join(f"{e},{1 / (e + 1):.4f},0.8{e},{1.1 / (e + 1):.4f},0.7{e}\n" for e in range(6))
    text = (
        f'Model: "sequential"\n____\ndense (Dense)    (None, 40)     3240\nTotal params: '
        f"342,165\n\n,loss,acc,val_loss,val_acc\n{rows}\nResults:\n"
    )
    run = one(read(text))
    assert curve(run, "val_loss")[:2] == [(0, 1.1), (1, 0.55)]
    assert len(run.series["acc"]) == 6


def test_two_trainings_in_one_file() -> None:
    once = "".join(f"epoch {i} loss {1 / (i + 1):.3f}\n" for i in range(8))
    assert [len(run.series["loss"]) for run in read(once + once)] == [8, 8]


def test_a_bare_counter_counts_epochs_where_other_lines_say_so() -> None:
    line = "Train: [{0}/50]\tlr 0.0003\tloss {1:.3f}\n"
    text = "".join(line.format(e, 3 - e / 20) + f"EPOCH {e} training takes 0:00:02\n" for e in range(20))
    run = one(read(text + line.format(20, 2.0)))  # killed in its last epoch
    assert run.series["train/loss"].axis == "epoch"
    assert run.config["planned_epochs"] == 50
    bare = one(read("".join(line.format(e, 3 - e / 20) for e in range(20))))
    assert bare.series["train/loss"].axis == "step"


def test_what_happens_belongs_to_the_training_it_stands_in() -> None:
    def training(*ending: str) -> str:
        return "".join(f"epoch {e} loss {3 - e / 40:.3f}\n" for e in range(60)) + "".join(
            f"{line}\n" for line in ending
        )

    crash = ("Traceback (most recent call last):", '  File "t.py", line 3, in <module>', "RuntimeError: shapes differ")
    runs = read(training(*crash) + training("UserWarning: loss is nan", "Training finished") + training(*crash))
    assert [[event.kind for event in run.events] for run in runs] == [
        ["traceback"], ["warning", "finished"], ["traceback"],
    ]  # fmt: skip


def test_lines_of_all_ranks_are_read_once() -> None:
    text = "".join(f"[rank{r}]: step {i} loss {i + r / 10}\n" for i in range(10) for r in (1, 0))
    run = one(read(text))
    assert run.series["loss"].values.tolist() == list(range(10))
    unlabelled = "".join(f"step {i} loss {i + r / 10}\n" for i in range(10) for r in (0, 1, 2))
    assert one(read(unlabelled)).series["loss"].values.tolist() == list(range(10))


def test_messages_of_two_handlers_are_read_once() -> None:
    message = "step {0} loss {0}.5"
    text = "".join(
        f"INFO:tensorflow:{message.format(i)}\nI1215 08:37:06.879258 1394 train.py:314] {message.format(i)}\n"
        for i in range(10)
    )
    assert one(read(text)).series["loss"].values.tolist() == [i + 0.5 for i in range(10)]


def test_epoch_and_batch_losses_of_one_name_are_two_series() -> None:
    text = "".join(f"  Epoch {e}/3 | batch {b}/20 | loss {b}\n" for e in range(1, 4) for b in (10, 20))
    text = "".join(
        f"  Epoch {e}/3 | batch {b}/20 | loss {b}\n" + (f"Epoch 0{e}/3 | loss={e} | CER=0.2\n" if b == 20 else "")
        for e in range(1, 4)
        for b in (10, 20)
    )
    run = one(read(text))
    assert len(run.series["loss"]) == 6
    assert run.series["loss_epoch"].values.tolist() == [1, 2, 3]
    assert run.series["loss_epoch"].meaning.scale == "epoch"


def test_wall_times_are_kept() -> None:
    run = one(read("".join(f"2024-02-28 23:59:{50 + i},250 - root - INFO - step {i} loss {i}\n" for i in range(10))))
    times = run.series["loss"].times
    assert times is not None
    assert np.diff(times).tolist() == [1.0] * 9
    assert times[0] == pytest.approx(1709164790.25)


def test_counters_glued_to_their_word() -> None:
    assert one(read("".join(f"Epoch{i} loss {i}.5\n" for i in range(12)))).series["loss"].steps.tolist() == list(
        range(12)
    )


def test_file_names_do_not_make_every_line_another_kind() -> None:
    text = "".join(
        f"[2018-01-11 17:52:23] iter training/ADE_train_{i * 7919:08d}.jpg, loss: 0.{i % 9 + 1}, accuracy: 0.5\n"
        for i in range(2000)
    )
    assert len(one(read(text)).series["train/loss"]) == 2000


def test_unknown_names_are_taken_when_nothing_else_is_there() -> None:
    run = one(read("".join(f"d: -{i}.25;gen: {i}.5:  1%|#1   | {i}/200 [00:01<00:09, 1.61it/s]\r" for i in range(100))))
    assert len(run.series["gen"]) == 100


def test_decimal_commas() -> None:
    run = one(read("".join(f"Epoch {i} loss: 0,{900 - i} acc: 0,{100 + i}\n" for i in range(20))))
    assert run.series["loss"].values[0] == 0.9
    assert run.series["acc"].values[-1] == 0.119


def test_nan_and_infinity_are_kept_as_logged() -> None:
    words = ["1.5", "nan", "-nan", "NaN", "inf", "-inf", "Infinity"]
    values = one(read("".join(f"step {i} loss {word}\n" for i, word in enumerate(words)))).series["loss"].values
    assert values[0] == 1.5
    assert np.isnan(values[1:4]).all()
    assert values[4:].tolist() == [math.inf, -math.inf, math.inf]


def test_other_encodings() -> None:
    text = "".join(f"Epoch {i} 完成 | 训练损失: {i}.5 | 验证损失: {i}.25\n" for i in range(8))
    for encoding in ("utf-8", "utf-16", "utf-8-sig"):
        run = one(read_text(MemorySource(text.encode(encoding), Path("nowhere"), "log")))
        assert run.series["训练损失"].meaning.split == "train"
        assert run.series["验证损失"].values[-1] == 7.25


def test_what_happened_is_noted() -> None:
    text = "".join(f"step {i} loss {i}\n" for i in range(20)) + (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    loss.backward()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.12 GiB.\n"
    )
    events = one(read(text)).events
    assert [event.kind for event in events] == ["oom"]
    assert events[0].step == 19


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Killed", "killed"),
        ("slurmstepd: error: *** JOB 18 ON r6i5n1 CANCELLED AT 2021-05-23T08:29:53 DUE TO TIME LIMIT ***", "killed"),
        ("RuntimeError: DataLoader worker (pid 1234) is killed by signal: Killed.", "dataloader"),
        ("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12)", "traceback"),
        ("Early stopping triggered at epoch 12", "early-stop"),
        ("Loss is nan, stopping training", "early-stop"),
        ("Training complete in 3m 2s", "finished"),
        ("`Trainer.fit` stopped: `max_epochs=10` reached.", "finished"),
        (
            "loss.py:630: UserWarning: Using a target size (torch.Size([25])) that is different to the input size",
            "warning",
        ),
    ],
)
def test_events(line: str, kind: str) -> None:
    run = one(read("".join(f"step {i} loss {i}\n" for i in range(5)) + line + "\n"))
    assert kind in [event.kind for event in run.events]


@pytest.mark.parametrize(
    "line",
    ["early_stopping: True", "'nccl_timeout': 600,", "Epoch 3 training finished", "room for more out of memory lane"],
)
def test_non_events(line: str) -> None:
    run = one(read("".join(f"step {i} loss {i}\n" for i in range(5)) + line + "\n"))
    assert [event.kind for event in run.events] == []


def test_a_crash_before_the_first_number_is_a_run() -> None:
    run = one(read('Starting\nTraceback (most recent call last):\n  File "a.py", line 1\nValueError: bad shape 3\n'))
    assert not run.series
    assert run.events[0].text == "ValueError: bad shape 3"


@pytest.mark.parametrize(
    "text",
    ["", "hello world\n" * 50, "version 1.2.3\nPython 3.11\n", "1\n2\n3\n", "def loss(x):\n    return x * 0.5\n"],
)
def test_text_without_metrics_is_refused(text: str) -> None:
    with pytest.raises(TraindxError, match="no training metrics"):
        read(text)


def test_a_long_preamble_does_not_hide_the_log() -> None:
    noise = "".join(f"+ export LD_PATH_{i}=/opt/lib{i}:/usr/lib{i}\n" for i in range(12_000))
    text = noise + "".join(
        f" iteration {i:8d}/    1000 | consumed samples: {i * 8} | lm loss: {9 - i / 9:.4E} | grad norm: 0.5 |\n"
        for i in range(9)
    )
    run = one(read(text))
    assert len(noise) > 500_000
    assert len(run.series["lm loss"]) == 9
    assert run.config["planned_steps"] == 1000


def test_a_huge_log_is_thinned_but_keeps_its_spikes_and_its_first_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "MAX_CELLS", 20_000)
    dice = random.Random(0)
    values = [f"{2 + dice.gauss(0, 0.1):.4f}" for _ in range(60_000)]
    values[23_457], values[51_111:] = "99.5", ["nan"] * (60_000 - 51_111)
    run = one(read("".join(f"iter {i}: loss {value}, time 9ms\n" for i, value in enumerate(values))))
    steps, kept = run.series["loss"].steps, run.series["loss"].values
    assert len(kept) < 10_000
    assert kept[steps == 23_457] == [99.5]
    assert steps[np.isnan(kept)][0] == 51_111
    assert "one row in" in run.lost[0]


GOLDEN_LOGS = {
    "tqdm_bars": {"val_acc": "val_acc"},
    "keras_bars": {"loss": "loss", "mae": "mae", "val_loss": "val_loss", "val_mae": "val_mae"},
    "keras_lines": {"loss": "loss", "mae": "mae", "val_loss": "val_loss", "val_mae": "val_mae"},
    "transformers_trainer": {"loss": "loss", "eval_loss": "eval_loss"},
    "lightning_bar": {"train_loss": "train_loss"},
    "sb3_tables": {"ep_rew_mean": "rollout/ep_rew_mean"},
    "xgboost_lines": {"train-logloss": "train-logloss", "valid-logloss": "valid-logloss"},
    "lightgbm_lines": {"training": "training's binary_logloss", "valid_1": "valid_1's binary_logloss"},
    "sklearn_mlp": {"loss": "loss", "Validation score": "Validation score"},
}


@pytest.mark.parametrize("name", GOLDEN_LOGS)
def test_what_real_libraries_print(name: str) -> None:
    expected = json.loads((GOLDEN / "text" / "expected.json").read_text())[name]
    run = one(read_path(GOLDEN / "text" / f"{name}.txt"))
    for measured, series in GOLDEN_LOGS[name].items():
        assert run.series[series].values == pytest.approx(expected[measured], rel=5e-3, abs=5e-4), series


def test_what_tqdm_shows_is_read_frame_by_frame() -> None:
    expected = json.loads((GOLDEN / "text" / "expected.json").read_text())["tqdm_bars"]["loss"]
    run = one(read_path(GOLDEN / "text" / "tqdm_bars.txt"))
    shown = dict(curve(run, "loss"))
    assert [shown[float(step)] for step in range(60)] == pytest.approx(expected, rel=5e-3, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("keras_bars", "keras-progress"),
        ("keras_lines", "keras-progress"),
        ("transformers_trainer", "hf-stdout"),
        ("sb3_tables", "sb3-table"),
        ("xgboost_lines", "text"),
    ],
)
def test_the_format_is_recognised(name: str, reader: str) -> None:
    assert best_reader(GOLDEN / "text" / f"{name}.txt") == reader


WORDS = [
    "loss",
    "acc",
    "epoch",
    "step",
    ":",
    "=",
    "0.5",
    "nan",
    "3",
    "[1/2]",
    "%",
    "|",
    "-",
    "val",
    "train",
    "{'loss':",
    "Traceback",
    "(most",
    "recent",
    "call",
    "last):",
    "\r",
    "\x1b[1m",
    "\x08",
]


@given(
    st.lists(
        st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=12).map(" ".join), max_size=60
    ).map("\n".join)
)
def test_any_text_is_survived(text: str) -> None:
    survives(READER, text.encode("utf-8", errors="replace"))


@given(st.integers(0, 10**6), st.sampled_from(sorted(GOLDEN_LOGS)))
def test_damaged_logs_are_survived(seed: int, name: str) -> None:
    dice = random.Random(seed)
    data = bytearray((GOLDEN / "text" / f"{name}.txt").read_bytes())
    for _ in range(dice.randrange(40)):
        data[dice.randrange(len(data))] = dice.randrange(256)
    start, stop = sorted(dice.randrange(len(data)) for _ in range(2))
    survives(READER, bytes(data[:stop] + data[start:]))


@pytest.mark.parametrize(
    "line",
    [
        "word{0} loss {0}.5 of {0}\n",
        "{0} {0} {0} {0}\n",
        "loss_{0}: 0.5\n",
        "epoch {0} " + "a{0}b=1 " * 20 + "\n",
        "Epoch{0} loss 3\n",
    ],
)
def test_time_grows_with_the_file_and_no_faster(line: str) -> None:
    def seconds(count: int) -> float:
        data = "".join(line.format(i) for i in range(count)).encode()
        started = time.process_time()
        survives(READER, data)
        return time.process_time() - started

    seconds(50)
    assert seconds(4000) < 10 * seconds(1000) + 0.5


def test_an_underscore_before_a_value_keeps_its_sign() -> None:
    (run,) = read("".join(f"epoch_{n} loss_{0.3 - n / 10:.2f} top_5 acc_0.{n + 10}\n" for n in range(8)))
    assert run.series["loss"].values.tolist() == [0.3, 0.2, 0.1, 0.0, -0.1, -0.2, -0.3, -0.4]


def test_a_training_whose_updates_are_all_skipped_has_its_gradient_norm() -> None:
    row = (
        " iteration {:8d}/ 1000 | learning rate: 1.0E-04 | loss scale: 1.0 | grad norm: nan | number of skipped "
        "iterations: 1 |\n"
    )
    (run,) = read("".join(row.format(n) for n in range(1, 30)))
    assert len(run.series["grad norm"]) == 29
    assert not np.isfinite(run.series["grad norm"].values).any()


def test_a_log_that_was_cut_back_while_it_was_written_begins_with_zeros(tmp_path: Path) -> None:
    """`> train.log` empties the file, and the training writes on where it was."""
    lines = "".join(f"step {i} | loss {3 - i / 50:.4f} | lr 3.0e-04\n" for i in range(60, 100)).encode()
    (tmp_path / "train.log").write_bytes(bytes(5001) + lines)
    run = one(find_runs([tmp_path]))
    assert len(run.series["loss"]) == 40


@pytest.mark.parametrize(
    "line",
    [
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 9, reducing to {}",
        "| WARNING: overflow detected, setting loss scale to: {}",
    ],
)
def test_a_log_in_which_the_loss_scaler_is_all_that_speaks(line: str, tmp_path: Path) -> None:
    scales = [2.0**-power for power in range(40, 60)]
    (tmp_path / "train.log").write_text("\n".join(map(line.format, scales)))
    run = one(find_runs([tmp_path / "train.log"]))
    assert run.series["loss scale"].values.tolist() == pytest.approx(scales)


def test_losses_that_are_all_nan_are_measurements_without_a_step(tmp_path: Path) -> None:
    """No setting is NaN, so that such lines need nothing that moves."""
    (tmp_path / "train.log").write_text("INFO - Train loss nan, accuracy 0.0000%\n" * 3)
    run = one(find_runs([tmp_path / "train.log"]))
    assert np.isnan(run.series["Train loss"].values).all()


def test_a_bare_exception_at_the_end_ended_the_run(tmp_path: Path) -> None:
    text = "step 1 loss 2.1\nstep 2 loss 2.0\nstep 3 loss 1.9\nException: Loss scale already at minimum. Exiting run.\n"
    (tmp_path / "train.log").write_text(text)
    died = one(find_runs([tmp_path / "train.log"])).died
    assert died is not None
    assert died.kind == "traceback"


def test_a_count_in_the_name_is_no_value(tmp_path: Path) -> None:
    lines = [f"Episode {50 * i}/400 | Reward moyen (100 ep): {30 - i:.1f} | mAP@0.50:0.95: 0.{i}5" for i in range(1, 9)]
    (tmp_path / "train.log").write_text("\n".join(lines))
    run = one(find_runs([tmp_path / "train.log"]))
    assert run.series["Reward moyen"].values.tolist() == [30.0 - i for i in range(1, 9)]
    assert run.series["mAP@0.50:0.95"].values[:2].tolist() == [0.15, 0.25]


def test_epochs_of_old_keras_have_no_total(tmp_path: Path) -> None:
    text = "".join(f"Epoch {i}\n500/500 [=====] - 5s - loss: {2 - i / 10:.4f}     \n" for i in range(8))
    (tmp_path / "train.log").write_text(text)
    run = one(find_runs([tmp_path / "train.log"]))
    assert run.series["loss"].steps.tolist() == list(range(8))


def test_the_results_that_the_trainer_prints_at_the_end(tmp_path: Path) -> None:
    text = "***** eval metrics *****\n  epoch                   =        3.0\n  eval_loss               =        nan\n"
    (tmp_path / "train.log").write_text(text + "  eval_runtime            = 0:00:25.70\n")
    run = one(find_runs([tmp_path / "train.log"]))
    assert list(run.series) == ["eval_loss"]
    assert np.isnan(run.series["eval_loss"].values).all()


def test_a_part_of_a_json_file_amid_words(tmp_path: Path) -> None:
    row = '    {{\n      "epoch": {0}.5,\n      "eval_loss": {1},\n      "step": {0}00\n    }}\n'
    text = 'It looks odd.\n"log_history": [\n' + "".join(row.format(i, f"0.{9 - i}") for i in range(1, 6))
    (tmp_path / "paste.txt").write_text(text + row.format(6, "NaN"))
    series = one(find_runs([tmp_path / "paste.txt"])).series["eval_loss"]
    assert series.steps.tolist() == [100, 200, 300, 400, 500, 600]
    assert np.isnan(series.values[-1])


def test_the_running_average_counts_where_rows_are_far_apart(tmp_path: Path) -> None:
    """One batch in a thousand says little; every tenth says it all, and the average lags behind."""
    rows = [(2.17, 3.20), (2.20, 3.14), (3.52, 3.08), (2.20, 3.06), (3.03, 3.03), (1.47, 2.93)]

    def losses(apart: int) -> list[float]:
        log = tmp_path / "train.log"
        lines = (f"epoch 1 | {i * apart} / 9000 loss={a:.2f} ({b:.2f})" for i, (a, b) in enumerate(rows, 1))
        log.write_text("\n".join(lines))
        (run,) = find_runs([log])
        return next(s.values.tolist() for s in run.series.values() if s.meaning.kind == "loss")

    assert losses(1000) == [average for _, average in rows]
    assert losses(10) == [value for value, _ in rows]


def test_a_row_that_lost_its_running_average_is_read_beside_the_others() -> None:
    rows = [f"Epoch: [0][{10 * i}/900] Loss {2 - i / 50:.3f} ({2 - i / 60:.3f}) Acc {i}.0 ({i}.5)" for i in range(40)]
    rows[20] = "Epoch: [0][200/900] Loss 1.600 Acc 20.0 (20.5)"
    (run,) = read("\n".join(rows))
    assert len(run.series["Loss"]) >= 39
