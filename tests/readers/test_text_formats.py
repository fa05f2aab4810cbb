"""Text logs of known tools, in their true shape: the format is recognised and its curves are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from reading import one
from reading import read_text as read_any
from traindx.readers.find import candidates, find_runs
from traindx.readers.formats.text import READER
from traindx.readers.source import MemorySource
from traindx.run import Run


def best(text: str) -> str:
    ranked = candidates(MemorySource(text.encode(), Path("nowhere"), "train.log"))
    return ranked[0][1].name


def read(text: str, reader: str) -> Run:
    assert best(text) == reader
    return one(read_any(text, "train.log"))


def values(run: Run, name: str) -> list[float]:
    return [float(value) for value in run.series[name].values]


def steps(run: Run, name: str) -> list[float]:
    return [float(step) for step in run.series[name].steps]


def test_megatron() -> None:
    line = (
        " iteration {i:8d}/    1000 | consumed samples: {s:12d} | elapsed time per iteration (ms): 1613.7 | learning "
        "rate: 1.500E-04 | "
        "global batch size:     4 | lm loss: {loss:.6E} | loss scale: 16384.0 | grad norm: 67.033 | number of skipped "
        "iterations:   1 | "
        "number of nan iterations:   0 |\ntime (ms)\n"
    )
    skipped = (
        " iteration       10/    1000 | consumed samples:           40 | elapsed time per iteration (ms): 3171.3 | "
        "learning rate: 0.000E+00 | "
        "global batch size:     4 | loss scale: 8388608.0 | number of skipped iterations:  10 | number of nan "
        "iterations:   0 |\n"
    )
    text = (
        "  tensor_model_parallel_size ...................... 4\n  lr .............................................. "
        "0.00015\n" + skipped
    )
    text += "".join(line.format(i=i, s=4 * i, loss=12 - i / 20) for i in range(20, 200, 10))
    text += (
        "-" * 90
        + "\n validation loss at iteration 190 | lm loss value: 7.645E+00 | lm loss PPL: 2.090E+03 | \n"
        + "-" * 90
        + "\n"
    )
    run = read(text, "megatron")
    assert steps(run, "lm loss") == list(range(20, 200, 10))
    assert steps(run, "loss scale")[0] == 10  # the line without a loss is a row too
    assert values(run, "val/lm loss value") == [7.645]
    assert run.series["val/lm loss PPL"].meaning.kind == "perplexity"
    assert run.series["elapsed time per iteration (ms)"].meaning.part == "ms"
    assert run.config["planned_steps"] == 1000
    assert run.config["lr"] == 0.00015


def test_megatron_lines_pasted_into_markdown() -> None:
    lines = "".join(
        f" iteration {i}/ 159576 | consumed samples: {i} | lm loss: {i / 1000:.4E} | grad norm: 1.5 |\n"
        for i in range(6900, 6950, 10)
    )
    text = (
        f"# Chronicles\n\nWe began with 6.3 and then loss went up at iteration 7000.\n\n```\n{lines}```\nmore "
        f"prose with loss 3 and 4\n"
    )
    run = read(text, "megatron")
    assert steps(run, "lm loss") == [6900, 6910, 6920, 6930, 6940]


def test_nanogpt() -> None:
    text = "tokens per iteration will be: 491,520\n"
    for i in range(0, 60, 10):
        text += f"step {i}: train loss {10 - i / 10:.4f}, val loss {11 - i / 10:.4f}\n" if i % 20 == 0 else ""
        text += f"iter {i}: loss {9 - i / 10:.4f}, time 135.20ms, mfu 29.88%\n"
    run = read(text, "nanogpt")
    assert steps(run, "loss") == [0, 10, 20, 30, 40, 50]
    assert steps(run, "val loss") == [0, 20, 40]
    assert run.series["time"].meaning.part == "ms"


def test_build_nanogpt() -> None:
    text = "".join(
        f"{i} train {10 - i / 10:.6f}\n" + (f"{i} val 9.5\n{i} hella 0.24\n" if i % 5 == 0 else "") for i in range(20)
    )
    run = read(text, "nanogpt")
    assert steps(run, "train") == list(range(20))
    assert run.series["hella"].meaning.kind == "score"
    assert run.series["val"].meaning.split == "val"


def test_hf_stdout_of_version_4_with_bars() -> None:
    text = "***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = 1,500\n"
    for i in range(1, 6):
        text += f"\r{i * 3:3d}%|█▏        | {i * 50}/1500 [00:10<01:20,  1.10it/s]"
        text += f"{{'loss': {4 - i / 10}, 'grad_norm': 1.5, 'learning_rate': {5e-5 - i * 1e-6}, 'epoch': {i / 10}}}\n"
    text += (
        "{'eval_loss': 3.2, 'eval_accuracy': 0.5, 'eval_runtime': 1.2, 'eval_samples_per_second': 100.1, 'epoch': "
        "0.5}\n"
    )
    text += "{'train_runtime': 12.5, 'train_samples_per_second': 10.0, 'train_loss': 3.7, 'epoch': 3.0}\n"
    run = read(text, "hf-stdout")
    assert values(run, "loss") == pytest.approx([3.9, 3.8, 3.7, 3.6, 3.5])
    assert steps(run, "loss") == [50, 100, 150, 200, 250]  # from the bar in front
    assert run.series["eval_loss"].meaning.split == "val"
    assert "train_loss" not in run.series  # an average over the whole training is no point of its curve
    assert run.config["planned_steps"] == 1500
    assert run.config["planned_epochs"] == 3
    assert [event.kind for event in run.events] == ["finished"]


def test_keras_progress_bars() -> None:
    text = ""
    for epoch in (1, 2, 3):
        text += f"Epoch {epoch}/5\n"
        for batch in (1, 50, 99):
            text += f"\r{batch:3d}/100 [=====>........] - ETA: 3s - loss: 9.9 - acc: 0.1"
        text += (
            f"\r100/100 [==============================] - 3s 30ms/step - loss: {4 - epoch}.5 - acc: 0.{epoch} - "
            f"val_loss: {epoch}.25 - val_acc: 0.5\n"
        )
    text += "Epoch 00003: reducing learning rate of group 0 to 1.0000e-04.\n"
    text += (
        "\r 10/100 [==>...] - ETA: 3s - loss: 7.7 - acc: 0.9\n10/10 [==============================] - 0s "
        "2ms/step - loss: 0.125 - acc: 0.75\n"
    )
    run = read(text, "keras-progress")
    assert values(run, "loss") == [3.5, 2.5, 1.5]
    assert values(run, "val_loss") == [1.25, 2.25, 3.25]
    assert values(run, "test/loss") == [0.125]
    assert values(run, "lr") == [1e-4]
    assert run.config["planned_epochs"] == 5
    assert run.config["steps_per_epoch"] == 100


def test_keras_bars_that_never_finished_an_epoch() -> None:
    text = "Epoch 1/5\n" + "".join(
        f"\r{batch:3d}/100 [=====>........] - ETA: 3s - loss: {batch}.5" for batch in range(1, 60)
    )
    assert values(read(text, "keras-progress"), "loss") == [59.5]


def test_keras_verbose_2_of_old_releases() -> None:
    text = "".join(
        f"Epoch {epoch}/3\n - 2s - loss: 0.{epoch} - acc: 0.9 - val_loss: 0.{epoch + 1} - val_acc: 0.8\n"
        for epoch in (1, 2, 3)
    )
    run = read(text, "keras-progress")
    assert values(run, "loss") == [0.1, 0.2, 0.3]
    assert steps(run, "val_loss") == [1, 2, 3]


D2 = (
    "[11/18 14:0{m}:11] d2.utils.events INFO:  eta: 1 day, 3:12:11  iter: {i}  total_loss: 0.{i}  loss_cls: 0.1  "
    "time: 1.0 data_time: 0.02  lr: 0.0002  max_mem: 1234M\n"
)


def test_detectron2() -> None:
    text = (
        "[11/18 14:00:00] detectron2 INFO: Rank of current process: 0. World size: 6\nSOLVER:\n  BASE_LR: 0.01\n  "
        "MAX_ITER: 90000\n"
    )
    text += "MODEL:\n  SEM_SEG_HEAD:\n    LOSS_WEIGHT: 1.0\n"
    text += "".join(D2.format(m=m, i=19 + 20 * m) for m in range(5))
    names, numbers = "AP,AP50,AP75", "14.3260,28.0750,12.9596"
    text += "".join(
        f"[11/18 14:07:41] d2.evaluation.testing INFO: copypaste: {line}\n" for line in ("Task: bbox", names, numbers)
    )
    text += " Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.281\n"
    run = read(text, "detectron2-text")
    assert steps(run, "total_loss") == [19, 39, 59, 79, 99]
    assert run.series["total_loss"].times is not None
    assert values(run, "val/bbox/AP") == [14.326]
    assert steps(run, "val/bbox/AP") == [99]
    assert values(run, "val/AP50") == [0.281]
    assert run.config["planned_steps"] == 90000
    assert run.config["BASE_LR"] == 0.01
    assert not any("LOSS_WEIGHT" in name for name in run.series)


@pytest.mark.parametrize("style", ["mmengine", "mmdet"])
def test_mmengine(style: str) -> None:
    text = (
        "2023/06/05 20:09:42 - mmengine - INFO - \nSystem environment:\n    sys.platform: linux\n"
        if style == "mmengine"
        else ""
    )
    for epoch in (1, 2):
        for batch in (50, 100):
            if style == "mmengine":
                text += (
                    f"2023/06/05 20:1{epoch}:{batch % 60:02d} - mmengine - INFO - Epoch(train)   "
                    f"[{epoch}][{batch:3d}/100]  lr: 4.0e-03  eta: 2:05:05  time: 7.4  data_time: 6.9  loss: "
                    f"0.{epoch}{batch}\n"
                )
            else:
                text += (
                    f"2021-06-05 20:1{epoch}:{batch % 60:02d},123 - mmdet - INFO - Epoch "
                    f"[{epoch}][{batch}/100]\tlr: 4.0e-03, eta: 2:05:05, time: 7.4, data_time: 6.9, loss: "
                    f"0.{epoch}{batch}\n"
                )
        line = (
            f"Epoch(val)   [{epoch}][10/10]    coco/AP: 0.{epoch}  data_time: 0.1"
            if style == "mmengine"
            else f"Epoch(val) [{epoch}][100]\tcoco/AP: 0.{epoch}, acc: 0.5"
        )
        text += f"2023/06/05 20:2{epoch}:00 - mmengine - INFO - {line}\n"
    run = read(text, "mmengine-text")
    loss = "train/loss" if style == "mmengine" else "loss"
    assert steps(run, loss) == [50, 100, 150, 200]
    assert steps(run, "val/coco/AP") == [100, 200]
    assert run.config["steps_per_epoch"] == 100
    if style == "mmengine":
        assert run.config["planned_steps"] == pytest.approx(200 + 7505 / 7.4, abs=1)


def test_mmengine_by_iteration() -> None:
    text = "".join(
        f"2023/06/05 20:10:13 - mmengine - INFO - Iter(train) [{i:6d}/160000]  lr: 1.0e-02  eta: 10:00:00  time: 0.5  "
        f"loss: 0.{i}\n"
        for i in range(50, 300, 50)
    )
    run = read(text, "mmengine-text")
    assert steps(run, "train/loss") == [50, 100, 150, 200, 250]
    assert run.config["planned_steps"] == 160000


def box(rows: list[tuple[str, str]], rule: str = "-" * 40) -> str:
    return rule + "\n" + "".join(f"| {name:<22}| {value:<12}|\n" for name, value in rows) + rule + "\n"


def test_stable_baselines_tables() -> None:
    text = "Using cpu device\n"
    for i in (1, 2, 3):
        rows = [
            ("rollout/", ""),
            ("   ep_rew_mean", f"{20 + i}"),
            ("time/", ""),
            ("   iterations", str(i)),
            ("   total_timesteps", str(2048 * i)),
        ]
        text += box([*rows, ("train/", ""), ("   loss", f"{9 / i:.3g}"), ("   approx_kl", "1.2e-05")])
    run = read(text, "sb3-table")
    assert values(run, "rollout/ep_rew_mean") == [21, 22, 23]
    assert steps(run, "train/loss") == [2048, 4096, 6144]


def test_spinning_up_tables() -> None:
    text = "".join(
        box(
            [
                ("Epoch", str(i)),
                ("AverageEpRet", f"{-100 + i}"),
                ("TotalEnvInteracts", f"{4000 * (i + 1)}"),
                ("LossPi", "0.1"),
            ]
        )
        for i in range(4)
    )
    run = read(text, "sb3-table")
    assert values(run, "AverageEpRet") == [-100, -99, -98, -97]
    assert steps(run, "AverageEpRet") == [4000, 8000, 12000, 16000]


@pytest.mark.parametrize("style", ["table", "bars", "json"])
def test_fairseq(style: str) -> None:
    text = "2021-03-01 12:00:00 | INFO | fairseq_cli.train | Namespace(lr=[0.0005], max_epoch=3, arch='transformer')\n"
    for epoch in (1, 2, 3):
        if style == "table":
            text += (
                f"| epoch 00{epoch} | loss {10 - epoch} | nll_loss 9.2 | ppl 600 | wps 1000 | num_updates "
                f"{epoch * 100} | lr 0.0005 | gnorm 2.5\n"
            )
        elif style == "bars":
            text += (
                f"epoch 00{epoch}:    100 / 3000 loss={10 - epoch}, nll_loss=9.2, ppl=600, wps=1000, "
                f"num_updates={epoch * 100}, lr=0.0005, gnorm=2.5\n"
            )
        else:
            text += (
                f'2021-03-01 12:0{epoch}:00 | INFO | train_inner | {{"epoch": {epoch}, "update": 0.1, "loss": '
                f'"{10 - epoch}", "num_updates": "{epoch * 100}", "gnorm": "2.5"}}\n'
            )
        text += (
            f"| epoch 00{epoch} | valid on 'valid' subset | loss {11 - epoch} | ppl 700 | num_updates "
            f"{epoch * 100} | best_loss 3\n"
        )
    run = read(text, "fairseq")
    name = "train/loss" if style == "json" else "loss"
    assert values(run, name) == [9, 8, 7]
    assert steps(run, name) == [100, 200, 300]
    assert values(run, "val/loss") == [10, 9, 8]
    assert not any("best" in name for name in run.series)
    assert run.config["planned_epochs"] == 3


def test_deepspeed() -> None:
    text = ""
    for i in range(1, 7):
        text += (
            f"[2021-05-23 08:29:{i:02d},123] [INFO] [logging.py:68:log_dist] [Rank 0] step={i * 10}, skipped=0, "
            f"lr=[0.0001, 0.0001], mom=[(0.9, 0.999)]\n"
        )
        text += f"steps: {i * 10} loss: {5 - i / 10:.4f} iter time (s): 0.512 samples/sec: 60.1\n"
    text += "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    run = read(text, "deepspeed")
    assert steps(run, "loss") == [10, 20, 30, 40, 50, 60]
    assert values(run, "lr") == [0.0001] * 6
    assert values(run, "loss scale") == [32768]
    assert run.series["samples/sec"].meaning.kind == "throughput"


def test_darknet() -> None:
    text = "   0 conv     32       3 x 3/ 1    416 x 416 x   3 ->  416 x 416 x  32 0.299 BF\n"
    text += "".join(
        f" {i}: {9 / i:.6f}, {10 / i:.6f} avg loss, 0.001000 rate, 3.1 seconds, {i * 64} images, 1.2 hours "
        f"left\nLoaded: 0.00004 seconds\n"
        for i in range(1, 9)
    )
    text += " mean_average_precision (mAP@0.50) = 0.854321\n"
    run = read(text, "darknet")
    assert steps(run, "avg loss") == list(range(1, 9))
    assert values(run, "val/mAP") == [0.854321]


def test_fastai_table() -> None:
    text = "epoch     train_loss  valid_loss  accuracy  time\n" + "".join(
        f"{i}         {1 / (i + 1):.6f}    {2 / (i + 1):.6f}    0.{i}00000  00:1{i}\n" for i in range(4)
    )
    run = one(read_any(text, "log.txt"))
    assert values(run, "valid_loss")[0] == 2
    assert steps(run, "train_loss") == [0, 1, 2, 3]


def test_spacy_table() -> None:
    text = (
        "ℹ Pipeline: ['tok2vec', 'ner']\nE    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE \n---  "
        "------  ------------  --------  ------  ------  ------  ------\n"
    )
    text += "".join(
        f"  {i // 2}     {i * 200:4d}         {9 - i}.00    {50 - i}.67    {i}.50   {i}.00    1.00    0.0{i} \n"
        for i in range(6)
    )
    run = one(read_any(text, "log.txt"))
    assert values(run, "LOSS NER") == [50.67, 49.67, 48.67, 47.67, 46.67, 45.67]
    assert steps(run, "SCORE") == [0, 200, 400, 600, 800, 1000]


def test_ultralytics_output() -> None:
    text = ""
    for epoch in (1, 2, 3):
        text += "\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
        for done in (1, 5, 10):
            text += (
                f"\r        {epoch}/3      5.1G     1.{epoch}      {done}.5      1.{epoch}         12        640: "
                f"{done * 10:3d}%|#####     | {done}/10 [00:01<00:02,  5.00it/s]"
            )
        text += (
            "\n                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): "
            "100%|##########| 2/2 [00:00<00:00,  5.00it/s]\n"
        )
        text += (
            f"                   all        128        929      0.6{epoch}      0.55       0.5{epoch}      "
            f"0.4{epoch}\n                person        128        254      0.80      0.70       0.75      "
            f"0.5{epoch}\n"
        )
    run = one(read_any(text, "log.txt"))
    assert values(run, "train/cls_loss") == [10.5, 10.5, 10.5]  # the last frame of each epoch
    assert steps(run, "train/box_loss") == [1, 2, 3]
    assert values(run, "val/mAP50(B)") == pytest.approx([0.51, 0.52, 0.53])
    assert steps(run, "val/mAP50(B)") == [1, 2, 3]
    assert run.config["planned_epochs"] == 3


def test_lightning_early_stopping_messages() -> None:
    text = "Metric val_loss improved. New best score: 0.170\n"
    text += "".join(
        f"Metric val_loss improved by 0.0{i} >= min_delta = 0.0. New best score: 0.{90 - i}\n" for i in range(1, 9)
    )
    assert values(one(read_any(text, "log.txt")), "val_loss (best)")[:2] == [0.17, 0.89]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("I0315 12:00:{i:02d}.123456 1234 solver.cpp:228] Iteration {i}, loss = 0.{i}", "loss"),  # Caffe
        ("Iteration {i}, loss = 0.{i}", "loss"),  # scikit-learn
        ("{i}:\tlearn: 0.{i}\ttest: 0.{i}\tbest: 0.1 (0)\ttotal: 53ms\tremaining: 53s", "learn"),  # CatBoost
        ("2022-04-12 17:06:{i:02d},849 - INFO - epoch: 0, batch_id: {i}, AUC:0.5, loss:0.{i}, ips: 1000.7 ins/s",
         "loss"),  # PaddlePaddle
        ("train epoch: {i}, loss: 0.{i}, accuracy: 98.{i}", "train/loss"),  # JAX examples
        ("{i}epoch:train:1-100batch: iter_time=0.1, loss_ctc=10.2, loss=0.{i}, acc=0.5", "train/loss"),  # ESPnet
        ("Epoch[{i}] Batch [20]\tSpeed: 36.22 samples/sec\tTrain-loss=0.{i}", "Train-loss"),  # MXNet
        ("INFO 2024-08-10 12:00:{i:02d} ts/train.py:100 step:{i} smpl:2K ep:3 epch:0.10 loss:0.{i} grdn:1.2 lr:1.0e-05 "
         "updt_s:0.1", "loss"),  # LeRobot
        # verl
        ("(TaskRunner pid=625502) step:{i} - actor/entropy:0.4 - actor/pg_loss:0.{i} - perf/mfu:0.1", "actor/pg_loss"),
        ("2020-01-01 00:00:{i:02d} [main] INFO org.deeplearning4j.optimize.listeners.ScoreIterationListener - Score at "
         "iteration {i} is 0.{i}", "loss"),
        ('json_stats: {{"_type": "train_epoch", "dt": 0.83, "epoch": "{i}/200", "eta": "5:31:04", "loss": 0.{i}, "lr": '
         '0.001}}', "train/loss"),  # SlowFast
    ],
)  # fmt: skip
def test_one_line_of_many_tools(line: str, name: str) -> None:
    text = "".join(line.format(i=i) + "\n" for i in range(10, 20))
    run = one(READER.read(MemorySource(text.encode(), Path("nowhere"), "log")))
    assert values(run, name) == [i / 100 for i in range(10, 20)]


@pytest.mark.parametrize("style", ["inside", "behind", "backspaces"])
def test_bars_of_pytorch_cifar(style: str) -> None:
    text = ""
    for epoch in range(3):
        text += f"\nEpoch: {epoch}\n"
        for total, base in ((391, 1.0), (100, 2.0)):
            for done in (1, total // 2, total):
                message = (
                    f"Step: 9ms | Tot: 9s585ms | Loss: {base + epoch / 10 + total - done:.3f} | Acc: 26.208% "
                    f"(13104/50000)"
                )
                end = "\n" if done == total else "\r"
                if style == "inside":
                    text += f" [==== {done}/{total} ===>]  {message}{end}"
                elif style == "behind":
                    text += f" [=========>]  {message} {done}/{total} {end}"
                else:
                    text += f" [=========>]  {message}        \x08\x08\x08\x08\x08 {done}/{total} {end}"
    run = one(read_any(text, "log.txt"))
    assert values(run, "train/Loss") == pytest.approx([1.0, 1.1, 1.2])
    assert values(run, "test/Loss") == pytest.approx([2.0, 2.1, 2.2])
    assert steps(run, "test/Loss") == [0, 1, 2]


def test_lightgbm_repeats_its_best_row() -> None:
    text = "Training until validation scores don't improve for 50 rounds\n"
    text += "".join(f"[{i}]\ttrain's l2: {9 / i:.4f}\tval's l2: {10 / i:.4f}\n" for i in range(50, 500, 50))
    text += "Early stopping, best iteration is:\n[423]\ttrain's l2: 0.0001\tval's l2: 0.0002\n"
    run = one(read_any(text, "log.txt"))
    assert steps(run, "val's l2") == list(range(50, 500, 50))
    assert "early-stop" in [event.kind for event in run.events]


def test_allennlp_tables() -> None:
    text = ""
    for epoch in range(3):
        text += f"2022-09-19 20:28:43,879 - INFO - allennlp.training.trainer - Epoch {epoch}/2\n"
        head = "2022-09-19 20:36:19,623 - INFO - allennlp.training.tensorboard_writer - "
        text += f"{head}                Training |  Validation\n{head}accuracy      |     0.{epoch}10  |       N/A\n"
        text += f"{head}loss          |     0.{5 - epoch}10  |     0.{6 - epoch}43\n"
    run = one(read_any(text, "log.txt"))
    assert values(run, "val/loss") == pytest.approx([0.643, 0.543, 0.443])
    assert steps(run, "train/loss") == [0, 1, 2]
    assert "val/accuracy" not in run.series


def test_llm_c_with_nothing_but_losses(tmp_path: Path) -> None:
    rows = "".join(f"s:{i} trl:{9 - i / 100:.4f} t:{i * 50}ms\n" for i in range(0, 300, 10))
    (tmp_path / "main.log").write_text(rows + "s:250 tel:6.6\ns:299 tel:6.1\n")
    (run,) = find_runs([tmp_path])
    assert len(run.series["trl"]) == 30
    assert run.series["tel"].meaning.split == "val"
