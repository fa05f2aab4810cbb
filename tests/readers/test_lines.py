"""Cleaning raw lines, and telling a logger's prefix from the message."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindx.readers.source import MAX_LINE, MemorySource
from traindx.readers.text.lines import blocks, read_prefix, tidy


def lines_of(data: bytes) -> list[str]:
    return "\n".join(blocks(MemorySource(data, Path("nowhere"), "log"))).split("\n")


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[32m[12:00]\x1b[0m loss 1", "[12:00] loss 1"),
        ("\x1b]0;title\x07loss 1", "loss 1"),
        ("[32mINFO[0m loss 1", "INFO loss 1"),
        ("loss 1\r\r\nloss 2\r\n", "loss 1\nloss 2\n"),
        ("10%|#| 1/10\r20%|##| 2/10", "10%|#| 1/10\n20%|##| 2/10"),
        ("loss: 0.5\x08\x08\x08\x08loss: 0.4", "loss: 0.5\nloss: 0.4"),
        ("bar\x1b[Aloss 3", "bar\nloss 3"),
        ("loss 1.#QNAN lr -1.#IND x 1.#INF00", "loss nan lr nan x inf"),
        ("lo\x00ss 1", "loss 1"),
    ],
)
def test_terminal_codes_are_removed(raw: str, clean: str) -> None:
    assert tidy(raw) == clean


def test_a_line_without_end_is_cut_and_the_next_one_read() -> None:
    data = b"loss 1\n" + b"x" * (30 * MAX_LINE) + b"\nloss 2\n"
    lines = lines_of(data)
    assert lines[0] == "loss 1"
    assert "loss 2" in lines
    assert sum(map(len, lines)) < len(data) / 4


def test_frames_of_one_endless_line_are_lines() -> None:
    data = b"\r".join(b"%3d%%|#| %d/9 [00:01<00:02, 1it/s, loss=%d]" % (i, i, i) for i in range(200_000))
    assert sum(1 for line in lines_of(data) if "loss=" in line) == 200_000


@given(st.binary(max_size=3000))
def test_any_bytes_become_lines(data: bytes) -> None:
    assert not any(letter in text for text in lines_of(data) for letter in "\r\x08\x1b\x00")


@pytest.mark.parametrize(
    ("line", "message", "units"),
    [
        ("[2025-10-21 01:04:22 alexnet](main.py 194): INFO Train: [0/50]", "Train: [0/50]", "YMDhms"),
        ("2023/06/05 20:09:42 - mmengine - INFO - Epoch(train) [1][1/6]", "Epoch(train) [1][1/6]", "YMDhms"),
        ("[11/17 15:16:13] d2.utils.events INFO:  eta: 1:00", "eta: 1:00", "MDhms"),
        ("[11/17 15:16:13 d2.utils.events]:  eta: 1:00", "eta: 1:00", "MDhms"),
        ("2018-07-27 17:06:07,821:INFO: - Train metrics", "- Train metrics", "YMDhms"),
        ("INFO:__main__:Epoch: 0009 loss", "Epoch: 0009 loss", ""),
        ("INFO:tensorflow:loss = 0.3, step = 100", "loss = 0.3, step = 100", ""),
        ("[2022-09-23 19:29:09,028][src.utils.utils][INFO] - Epoch 1", "Epoch 1", "YMDhms"),
        (
            "2025-12-26 16:29:18.216\thost-03:0\tolmo.train:990\tINFO\t[step=10/1000,epoch=0]",
            "[step=10/1000,epoch=0]",
            "YMDhms",
        ),
        ("[INFO|trainer.py:669] 2023-07-15 05:03:24,298 >> Num examples", "Num examples", "YMDhms"),
        ("I0315 12:00:00.123456 1234 solver.cc:12] Iteration 5", "Iteration 5", "hms"),
        (
            "2021-09-03 20:17:51.976 | INFO     | yolox.core.trainer:after_iter:246 - epoch: 1/300",
            "epoch: 1/300",
            "YMDhms",
        ),
        ("[2021-05-23 08:29:53,123] [INFO] [logging.py:68:log_dist] [Rank 0] step=10", "step=10", "YMDhms"),
        ("2024-06-14 18:45:08,384 train.py step     0 | loss: 11.0", "step     0 | loss: 11.0", "YMDhms"),
        ("INFO - 03/11/25 12:39:30 - 200 - loss", "200 - loss", "hms"),
        ("(TaskRunner pid=625502) step:1 - loss:2", "step:1 - loss:2", ""),
        (
            "06:38:16.402 [main] INFO org.dl4j.ScoreIterationListener - Score at iteration 0",
            "Score at iteration 0",
            "hms",
        ),
        ("epoch 1 loss 2", "epoch 1 loss 2", ""),
        ("| epoch 001 | loss 9.8", "| epoch 001 | loss 9.8", ""),
        ("[10]\ttrain-logloss:0.31", "[10]\ttrain-logloss:0.31", ""),
        ("0:\tlearn: 0.69", "0:\tlearn: 0.69", ""),
        ("Epoch: [0][ 10/50] Loss 1", "Epoch: [0][ 10/50] Loss 1", ""),
    ],
)
def test_the_prefix_is_told_from_the_message(line: str, message: str, units: str) -> None:
    prefix = read_prefix(line)
    assert line[prefix.end :] == message
    assert "".join(unit for unit, _ in prefix.clock) == units


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[rank3]: loss 1", 3),
        ("[default7]: iteration 5/ 10", 7),
        ("0: iteration 5/ 10 | lm loss: 3", 0),
        ("[1,4]<stdout>:loss 1", 4),
        ("loss 1", None),
    ],
)
def test_the_rank_is_read(line: str, rank: int | None) -> None:
    assert read_prefix(line).rank == rank


@given(st.text(max_size=400))
def test_any_line_has_a_prefix(line: str) -> None:
    assert 0 <= read_prefix(line).end <= len(line)
