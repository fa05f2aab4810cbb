"""The names and counters of single lines, as programs of all kinds print them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindx.meaning import meaning_of
from traindx.readers.text.pairs import analyse
from traindx.readers.text.plans import Plan
from traindx.readers.text.tokens import NUMBER, to_float, to_floats, uses_decimal_comma


def numbers(line: str) -> list[float]:
    return [to_float(word) for word in NUMBER.findall(line)]


def planned(line: str) -> Plan:
    plan = analyse(line)
    assert plan is not None, line
    return plan


def named(line: str) -> dict[str, float]:
    """Names (with the split the line gives them) and values of a line."""
    values = numbers(line)
    found: dict[str, float] = {}
    for column in planned(line).columns:
        if column.clock or column.meaning.kind in ("time", "step_time", "data_time", "throughput", "memory", "stamp"):
            continue
        value = (
            values[column.index] * column.scale if column.over is None else values[column.index] / values[column.over]
        )
        found[f"{column.split}/{column.name}" if column.split else column.name] = value
    return found


def counted(line: str) -> dict[str, float]:
    """Counters of a line, with their totals."""
    values = numbers(line)
    found: dict[str, float] = {}
    for counter in planned(line).counters:
        found[counter.role] = values[counter.index] * counter.scale
        if counter.total is not None:
            found[f"{counter.role} of"] = values[counter.total]
    return found


LINES: list[tuple[str, dict[str, float], dict[str, float]]] = [
    ("epoch 3 step 16 loss: 0.46 V^2", {"epoch": 3, "step": 16}, {"loss": 0.46}),
    ("Epoch 1/5, Step 10/542, loss = 0.02", {"epoch": 1, "epoch of": 5, "step": 10, "step of": 542}, {"loss": 0.02}),
    ("Epoch [3/50], Step [100/600], Loss: 0.3", {"epoch": 3, "epoch of": 50, "step": 100, "step of": 600},
     {"Loss": 0.3}),
    ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3", {"epoch": 1, "batch": 640, "batch of": 60000}, {"train/Loss": 2.3}),
    ("Test set: Average loss: 0.5, Accuracy: 912/1000 (91%)", {}, {"test/Average loss": 0.5, "test/Accuracy": 91}),
    ("Accuracy: 912/1000", {}, {"Accuracy": 0.912}),
    ("step 10: train loss 4.1, val loss 4.2", {"step": 10}, {"train loss": 4.1, "val loss": 4.2}),
    ("iter 10: loss 4.1, time 12.5ms, mfu 3.1%", {"step": 10}, {"loss": 4.1}),
    ("0 train 10.95", {"step": 0}, {"train": 10.95}),
    ("Epoch 12 | train loss 0.31 | val loss 0.42 | 12.3s", {"epoch": 12}, {"train loss": 0.31, "val loss": 0.42}),
    ("Epoch: [2][ 10/250]\tTime 3.9 (3.8)\tLoss 13.0 (12.5)\tAcc@1 26.2 (13.4)",
     {"epoch": 2, "batch": 10, "batch of": 250}, {"Loss": 13.0, "Acc@1": 26.2}),
    ("Epoch: [2]  [ 10/5005]  eta: 0:20:10  lr: 0.1  loss: 6.9 (6.8)", {"epoch": 2, "batch": 10, "batch of": 5005},
     {"lr": 0.1, "loss": 6.9}),
    ("Train: [0/300][10/1251]\teta 0:20:00 lr 0.1\tloss 6.9 (6.8)",
     {"epoch": 0, "epoch of": 300, "batch": 10, "batch of": 1251}, {"lr": 0.1, "train/loss": 6.9}),
    ("Validate:\tTime 0.1 (0.2)\tLoss 1.8 (1.9)", {}, {"val/Loss": 1.9}),
    (" * Train Acc 13.402 Train Loss 2.297", {}, {"Train Acc": 13.402, "Train Loss": 2.297}),
    ("(epoch: 2, iters: 12, time: 2.4, data: 0.1) G_GAN: 0.8 G_L1: 13.6", {"epoch": 2, "step": 12},
     {"G_GAN": 0.8, "G_L1": 13.6}),
    ("12%|█▏   | 12/100 [00:10<01:20, 1.1it/s, loss=0.3]", {"batch": 12, "batch of": 100}, {"loss": 0.3}),
    ("Epoch 3:  12%|#1   | 12/100 [00:10<01:20, 1.1it/s, v_num=1, train_loss=0.3]",
     {"epoch": 3, "batch": 12, "batch of": 100}, {"v_num": 1, "train_loss": 0.3}),
    ("loss: 0.31:  10%|#1  | 20/200 [21:18<3:06:09,  1.61it/s]", {"batch": 20, "batch of": 200}, {"loss": 0.31}),
    ("[0/25][5/1583]\tLoss_D: 1.7\tLoss_G: 5.1", {"epoch": 0, "epoch of": 25, "batch": 5, "batch of": 1583},
     {"Loss_D": 1.7, "Loss_G": 5.1}),
    ("[Epoch 0/200] [Batch 5/1583] [D loss: 0.5, acc: 50%] [G loss: 0.7]",
     {"epoch": 0, "epoch of": 200, "batch": 5, "batch of": 1583}, {"D loss": 0.5, "acc": 50, "G loss": 0.7}),
    ("[10]\ttrain-logloss:0.31\tvalid-logloss:0.33", {"step": 10}, {"train-logloss": 0.31, "valid-logloss": 0.33}),
    ("[10]\ttraining's auc: 0.9\tvalid_1's auc: 0.8", {"step": 10}, {"training's auc": 0.9, "valid_1's auc": 0.8}),
    ("0:\tlearn: 0.69\ttest: 0.7\tbest: 0.7 (0)\ttotal: 53ms\tremaining: 53s", {"step": 0},
     {"learn": 0.69, "test": 0.7}),
    ("Iteration 100 (2.3 iter/s, 43s/100 iters), loss = 0.3", {"step": 100}, {"loss": 0.3}),
    ("    Test net output #0: accuracy = 0.9", {}, {"test/accuracy": 0.9}),
    ("INFO:tensorflow:loss = 0.3, step = 100 (1.2 sec)", {"step": 100}, {"loss": 0.3}),
    ("INFO:tensorflow:Saving dict for global step 100: accuracy = 0.9, loss = 0.3", {"step": 100},
     {"val/accuracy": 0.9, "val/loss": 0.3}),
    ("epoch 001:    100 / 3000 loss=9.1, ppl=300, num_updates=120",
     {"epoch": 1, "batch": 100, "batch of": 3000, "step": 120}, {"loss": 9.1, "ppl": 300}),
    ("| epoch 001 | valid on 'valid' subset | loss 9.0 | ppl 300 | best_loss 8", {"epoch": 1},
     {"val/loss": 9.0, "val/ppl": 300}),
    ("{'loss': 3.66, 'learning_rate': 5e-05, 'epoch': 0.05}", {"epoch": 0.05}, {"loss": 3.66, "learning_rate": 5e-05}),
    ("{'loss': '3.66', 'learning_rate': '5e-05', 'epoch': '0.05'}", {"epoch": 0.05},
     {"loss": 3.66, "learning_rate": 5e-05}),
    ("{'loss': np.float64(0.34), 'epoch': 3}", {"epoch": 3}, {"loss": 0.34}),
    ("loss tensor(2.3026, device='cuda:0', grad_fn=<NllLossBackward0>)", {}, {"loss": 2.3026}),
    ("step=10, skipped=0, lr=[0.1, 0.1], mom=[(0.9, 0.99)]", {"step": 10}, {"skipped": 0, "lr": 0.1, "mom": 0.9}),
    ("1epoch:train:1-100batch: loss_ctc=10.2, loss=20.1, acc=0.5", {"epoch": 1, "batch": 100},
     {"train/loss_ctc": 10.2, "train/loss": 20.1, "train/acc": 0.5}),
    ("1epoch results: [train] loss=20.1, [valid] loss=18.2", {"epoch": 1}, {"train/loss": 20.1, "val/loss": 18.2}),
    ("Epoch[145] Batch [20]\tSpeed: 36.2 samples/sec\tTrain-Acc=0.77", {"epoch": 145, "batch": 20},
     {"Train-Acc": 0.77}),
    ("   == step: [ 50/196] [1/5] | loss: 1.9 | acc: 30.2%", {"step": 50, "step of": 196, "epoch": 1, "epoch of": 5},
     {"loss": 1.9, "acc": 30.2}),
    ("Train Epoch: 1 | Batch Status: 8000/50000 (16%) | Loss: 2.1", {"epoch": 1, "batch": 8000, "batch of": 50000},
     {"train/Loss": 2.1}),
    ("Training loss at epoch 10/100 : 0.5", {"epoch": 10, "epoch of": 100}, {"Training loss": 0.5}),
    ("# Epoch: 2 Train Loss: tensor(51.7) Test Accuracy: 0.38", {"epoch": 2},
     {"Train Loss": 51.7, "Test Accuracy": 0.38}),
    ("Epoch: 1 Train Loss: 1.6 | Train Acc: 20.2% Val. Loss: 1.5 | Val. Acc: 23.5%", {"epoch": 1},
     {"Train Loss": 1.6, "Train Acc": 20.2, "Val. Loss": 1.5, "Val. Acc": 23.5}),
    ("Minibatch loss at step 50: 5.2", {"step": 50}, {"Minibatch loss": 5.2}),
    ("Score at iteration 40 is 1.62", {"step": 40}, {"loss": 1.62}),
    ("Accuracy of the network on the 10000 test images: 71 %", {}, {"Accuracy of the network on the test images": 71}),
    ("Average reward over the last 100 episodes: 21.3", {}, {"Average reward over the last episodes": 21.3}),
    ("Train: loss 0.3 acc 0.9 | Val: loss 0.4 acc 0.8", {},
     {"train/loss": 0.3, "train/acc": 0.9, "val/loss": 0.4, "val/acc": 0.8}),
    ("train loss 0.3 acc 0.9 val loss 0.4 acc 0.8", {},
     {"train loss": 0.3, "train/acc": 0.9, "val loss": 0.4, "val/acc": 0.8}),
    ("loss1,loss2 5.4 5.5", {}, {"loss1": 5.4, "loss2": 5.5}),
    ("number of nan iterations: 0 | lm loss: 7.1E+00", {}, {"number of nan iterations": 0, "lm loss": 7.1}),
    ("coco/AP: 0.1  coco/AP .5: 0.2  coco/AP .75: 0.3", {}, {"coco/AP": 0.1, "coco/AP .5": 0.2, "coco/AP .75": 0.3}),
    ("mAP@0.5:0.95 0.3", {}, {"mAP@0.5:0.95": 0.3}),
    ("step:2K loss:0.5 tokens: 1.5k", {"step": 2000}, {"loss": 0.5, "tokens": 1500}),
    ("Epoch 16 完成 | 训练损失: 4.6 | 验证损失: 6.0", {"epoch": 16}, {"训练损失": 4.6, "验证损失": 6.0}),
    ("loss -nan acc inf lr NaN", {}, {"loss": float("nan"), "acc": float("inf"), "lr": float("nan")}),
    ("Epoch 2 Rec=0.2, KL=149.8, Total=1.7", {"epoch": 2}, {"Rec": 0.2, "KL": 149.8, "Total": 1.7}),
    ("Validation pixAcc: 0.5, mIoU: 0.3", {}, {"Validation pixAcc": 0.5, "val/mIoU": 0.3}),
    ("Loss: 1,234.5 tokens: 12,345", {}, {"Loss": 1234.5, "tokens": 12345}),
    ('"tel": 6.31, "loss": 2', {}, {"tel": 6.31, "loss": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "counters", "names"), LINES, ids=[line[:40] for line, _, _ in LINES])
def test_names_and_counters(line: str, counters: dict[str, float], names: dict[str, float]) -> None:
    assert counted(line) == counters
    assert named(line) == pytest.approx(names, nan_ok=True)


@pytest.mark.parametrize(
    "line",
    [
        "epochs: 100", "torch.Size([25, 1])", "Python 3.11.4 on linux, torch 2.1.0+cu118",
        "http://127.0.0.1:8265/loss/3",
        "saved to /data/loss_3/epoch_4/model_0.35.pth", "Total params: 11,173,962", "Conv2d(3, 64, kernel_size=(7, 7), "
                                                                                    "stride=(2, 2))",
        "INSTANCE_LOSS_WEIGHT: 1.0", "bbox_loss_coef=5", "Downloading torch-2.1.0 (619.9 MB)", "2023-06-05",
        "[64790, 64792, 790, 30951]",
        "Best accuracy: 0.91", "Epoch 00010: val_loss improved from 0.5 to 0.4, saving model to m.h5",
    ],
)  # fmt: skip
def test_what_is_no_measurement(line: str) -> None:
    plan = analyse(line)
    assert plan is None or not plan.objective


@pytest.mark.parametrize(
    "line",
    [
        "Saved new best model at epoch 1 with val loss 1.03",
        "[BEST] New best CER=0.2034 - model saved",
        "Resuming from epoch 3, loss 0.3",
    ],
)
def test_remarks_about_other_lines_are_told_apart(line: str) -> None:
    plan = analyse(line)
    assert plan is None or plan.stated or not plan.objective


@pytest.mark.parametrize(
    ("line", "header"),
    [("===== Epoch 3/50 =====", True), ("current step: 4th step", True), ("Loading epoch 3 weights", False)],
)
def test_headers(line: str, header: bool) -> None:
    plan = analyse(line)
    assert (plan is not None and plan.header and not plan.stated) is header


def test_validation_lines_keep_the_average_and_training_lines_the_value() -> None:
    assert named("Test: [10/53] Loss 0.9 (0.7)")["test/Loss"] == 0.7
    assert named("Epoch: [1][10/53] Loss 0.9 (0.7)")["Loss"] == 0.9


def test_decimal_commas_are_recognised() -> None:
    german = "\n".join(f"Epoche {i} loss: 0,{5000 - i} acc: 0,{i + 10}" for i in range(10))
    assert uses_decimal_comma(german)
    assert not uses_decimal_comma("loss: 0.5 tokens: 12,345\n" * 10)
    assert to_float("0,25") == 0.25
    assert to_floats(["1,234", "2.5", "-nan"])[0] == 1234


def random_lines() -> st.SearchStrategy[str]:
    words = st.sampled_from(
        [
            "loss",
            "acc",
            "Epoch",
            "step",
            ":",
            "=",
            ",",
            "|",
            "[",
            "]",
            "(",
            ")",
            "/",
            "3",
            "0.5",
            "-1e-3",
            "nan",
            "%",
            "ms",
            "-",
            "train",
            "val",
            "{'a':",
            "1,234",
            "[1/2][3/4]",
            "12:30:01",
            "100%|##|",
            "1/2",
            "[00:01<00:02,",
            "1it/s",
        ]
    )
    return st.lists(st.one_of(words, st.text(max_size=8)), max_size=40).map(" ".join)


@given(random_lines())
def test_no_line_is_too_strange(line: str) -> None:
    line = line.replace("\n", " ")
    plan = analyse(line)
    if plan is not None:
        count = len(NUMBER.findall(line))
        assert all(0 <= index < count for column in plan.columns for index in column.indices)
        assert all(0 <= counter.index < count for counter in plan.counters)


@pytest.mark.parametrize(
    "unit",
    [
        "loss 0.5 ",
        "a.b/c.",
        "((([[[",
        "1,2,3,",
        "x=1;",
        "12:30:",
        "0.5%|#|",
        "a, b, ",
        "-- ",
        "epoch 3 [",
        "['a': '",
        "top 5 x: ",
        "3-4-5-",
        "the 3 ",
    ],
)
def test_time_grows_no_faster_than_the_line(unit: str) -> None:
    started = time.process_time()
    for _ in range(5):
        analyse((unit * 6000)[:5900])
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Prec@5", "score"),
        ("MeanIU", "score"),
        ("FB1", "score"),
        ("top1_err", "error"),
        ("Accuracy of the network on the test images", "score"),
    ],
)
def test_names_that_logs_use(name: str, kind: str) -> None:
    assert meaning_of(name).kind == kind
