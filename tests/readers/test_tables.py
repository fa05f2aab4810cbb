"""The table engine: every oddity a CSV log has been seen with, on a small file of its own."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import one, read_path, read_text, survives
from traindx.readers.formats import csv_table
from traindx.readers.source import MemorySource, Source
from traindx.readers.tables.grid import Cutter
from traindx.run import Run


def values(run: Run, name: str) -> list[float]:
    return run.series[name].values.tolist()


def steps(run: Run, name: str) -> list[float]:
    return run.series[name].steps.tolist()


PLAIN = "step,train_loss,val_loss\n0,2.5,2.6\n10,2.0,2.2\n20,1.5,1.9\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r\r\n"),
        PLAIN.replace("\n", "\r"),
        "\ufeff" + PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", "|"),
        PLAIN.replace(",", "   "),
        "step;train_loss;val_loss\n0;2,5;2,6\n10;2,0;2,2\n20;1,5;1,9\n",
        "\n".join(",".join(cell.rjust(12) for cell in line.split(",")) for line in PLAIN.splitlines()),
        "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in PLAIN.splitlines()),
        "# written by hand\n" + PLAIN,
        "Training of model 7\nstarted on Monday\n" + PLAIN,
        PLAIN.replace("\n", ",\n"),
        "# step train_loss val_loss\n0 2.5 2.6\n10 2.0 2.2\n20 1.5 1.9\n",
        ",step,train_loss,val_loss\n0,0,2.5,2.6\n1,10,2.0,2.2\n2,20,1.5,1.9\n",
        PLAIN + "\x00\x00\x00\x00",
    ],
)  # fmt: skip
def test_the_same_table_however_it_is_written(text: str) -> None:
    run = one(read_text(text))
    assert steps(run, "train_loss") == [0, 10, 20]
    assert values(run, "train_loss") == [2.5, 2.0, 1.5]
    assert values(run, "val_loss") == [2.6, 2.2, 1.9]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(encoding: str) -> None:
    run = one(read_text(PLAIN, encoding=encoding))
    assert values(run, "val_loss") == [2.6, 2.2, 1.9]


def test_gzip_and_a_lying_extension(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert values(one(read_path(path)), "train_loss") == [2.5, 2.0, 1.5]


def test_nan_inf_and_blank_are_three_things() -> None:
    cells = ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "", "null", "None", "N/A", "1.#QNAN", "0.5"]
    rows = "".join(f"{step},{cell}\n" for step, cell in enumerate(cells))
    run = one(read_text("step,loss\n" + rows))
    assert steps(run, "loss") == [0, 1, 2, 3, 4, 5, 10, 11]
    found = values(run, "loss")
    assert all(math.isnan(value) for value in [*found[:3], found[6]])
    assert found[3:6] == [math.inf, -math.inf, math.inf]
    assert found[7] == 0.5


def test_units_percent_averages_and_wrappers() -> None:
    run = one(read_text(
        "epoch,loss,acc,time,memory\n"
        "1,6.9 (7.1),45.5%,00:01:05,3.5 GB\n"
        '2,6.1 (6.5),50%,65.2s,3.6 GB\n3,"tensor(5.5, device=\'cuda:0\')",55 %,70s,3.7 GB\n'
    ))  # fmt: skip
    assert values(run, "loss") == [6.9, 6.1, 5.5]
    assert values(run, "acc") == [45.5, 50, 55]
    assert values(run, "time") == [65, 65.2, 70]
    assert values(run, "memory") == [3.5, 3.6, 3.7]


def test_a_header_in_the_middle_is_a_new_run() -> None:
    runs = read_text("epoch,loss\n0,3\n1,2\n2,1\nepoch,loss\n0,4\n1,3\n")
    assert [values(run, "loss") for run in runs] == [[3, 2, 1], [4, 3]]


def test_a_header_in_the_middle_of_a_counter_that_goes_on_is_a_restart() -> None:
    run = one(read_text("epoch,loss\n0,3\n1,2\n2,1\nepoch,loss\n3,0.9\n4,0.8\n"))
    assert values(run, "loss") == [3, 2, 1, 0.9, 0.8]
    assert [event.kind for event in run.events] == ["restart"]


def test_another_table_below_the_first_has_its_own_columns() -> None:
    runs = read_text("epoch,loss\n0,3\n1,2\nepoch,lr,val_loss\n0,0.1,5\n1,0.2,4\n")
    assert values(runs[0], "loss") == [3, 2]
    assert values(runs[1], "val_loss") == [5, 4]
    assert values(runs[1], "lr") == [0.1, 0.2]


def test_one_header_for_several_runs() -> None:
    runs = read_text("epoch,loss\n" + "".join(f"{epoch},{run}.{epoch}\n" for run in range(3) for epoch in range(5)))
    assert [values(run, "loss")[0] for run in runs] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("name", ["split", "phase", "mode"])
def test_a_column_that_says_train_or_val(name: str) -> None:
    run = one(read_text(f"epoch,{name},loss,lr\n0,train,3,0.1\n0,val,3.5,0.1\n1,train,2,0.1\n1,val,2.5,0.1\n"))
    assert values(run, "train/loss") == [3, 2]
    assert values(run, "val/loss") == [3.5, 2.5]
    assert run.series["val/loss"].meaning.split == "val"
    assert len(run.series["lr"]) == 2


def test_a_column_that_names_runs() -> None:
    runs = read_text(
        "model,epoch,loss\n" + "".join(f"{m},{e},{e + k}\n" for k, m in enumerate(["big", "small"]) for e in range(4))
    )
    assert [run.name for run in runs] == ["big", "small"]
    assert values(runs[1], "loss") == [1, 2, 3, 4]


def test_folds_by_number_are_runs() -> None:
    runs = read_text("fold,epoch,val_loss\n" + "".join(f"{f},{e},{f}\n" for e in range(5) for f in (1, 2, 3)))
    assert [run.name for run in runs] == ["1", "2", "3"]
    assert all(len(run.series["val_loss"]) == 5 for run in runs)


def test_a_word_column_with_one_value_is_no_run_and_nothing_is_lost() -> None:
    run = one(read_text("epoch,optimizer,loss\n0,adam,3\n1,adam,2\n2,adam,1\n"))
    assert values(run, "loss") == [3, 2, 1]
    assert not run.lost


def test_long_format() -> None:
    run = one(read_text("step,tag,value\n0,train/loss,3\n0,lr,0.1\n10,train/loss,2\n10,lr,0.1\n10,val/loss,2.5\n"))
    assert (steps(run, "train/loss"), values(run, "train/loss")) == ([0, 10], [3, 2])
    assert (steps(run, "val/loss"), values(run, "val/loss")) == ([10], [2.5])


def test_long_format_with_a_split_and_runs() -> None:
    rows = "".join(
        f"{run},{epoch},{split},{metric},{epoch + 1}\n"
        for run in ("a", "b") for epoch in range(4) for split in ("train", "val") for metric in ("loss", "acc")
    )  # fmt: skip
    runs = read_text("run_id,epoch,split,metric,value\n" + rows)
    assert [run.name for run in runs] == ["a", "b"]
    assert set(runs[0].series) == {"train/loss", "val/loss", "train/acc", "val/acc"}


@pytest.mark.parametrize("tags", [3, 7])
def test_long_format_of_many_rounds(tags: int) -> None:
    text = "step,tag,value\n" + "".join(
        f"{step},loss_{tag},{step * 10 + tag}\n" for step in range(9000) for tag in range(tags)
    )
    run = one(read_text(text))
    for tag in range(tags):
        np.testing.assert_array_equal(run.series[f"loss_{tag}"].steps, np.arange(9000))
        np.testing.assert_array_equal(run.series[f"loss_{tag}"].values, np.arange(9000) * 10 + tag)


def test_tensorboard_and_wandb_exports() -> None:
    text = "Wall time,Step,Value\n1700000000.5,0,3\n1700000001.5,10,2\n"
    run = one(read_text(text, name="run-version_0-tag-train_loss.csv"))
    assert (steps(run, "train_loss"), values(run, "train_loss")) == ([0, 10], [3, 2])
    assert run.series["train_loss"].times is not None
    runs = read_text(
        '"Step","red-sun-1 - train/loss","red-sun-1 - train/loss__MIN","red-sun-1 - train/loss__MAX","old-sea-2 - '
        'train/loss"\n'
        '"0","3","3","3","4"\n"10","2","2","2",""\n'
    )
    assert [(run.name, values(run, "train/loss")) for run in runs] == [("red-sun-1", [3, 2]), ("old-sea-2", [4])]


def test_ragged_and_broken_rows_are_told() -> None:
    run = one(read_text("epoch,loss,acc\n0,3,0.1\n1,2\n2,oops,0.3\n3,1,0.4,9,9\n4,0.5,0.5\n"))
    assert steps(run, "loss") == [0, 1, 3, 4]
    assert any("number of cells" in sentence for sentence in run.lost)
    assert any("'loss'" in sentence for sentence in run.lost)


def test_the_torn_number_at_the_end_is_not_believed() -> None:
    run = one(read_text("epoch,loss,val_loss\n0,3.25,3.5\n1,2.25,2.5\n2,1.2"))
    assert values(run, "loss") == [3.25, 2.25]
    assert (
        run.lost == ["the last row is cut off", "rows with another number of cells than the header: 1"]
        or "cut off" in run.lost[0]
    )
    whole = one(read_text("epoch,loss,val_loss\n0,3.25,3.5\n1,2.25,2.5\n2,1.25,1.5"))
    assert values(whole, "val_loss") == [3.5, 2.5, 1.5]


def test_a_table_of_blanks_names_its_metrics() -> None:
    run = one(read_text("global_epoch,avg_train_loss,mAP50\n1,,\n"))
    assert {name: len(series) for name, series in run.series.items()} == {"avg_train_loss": 0, "mAP50": 0}
    header_only = one(read_text("epoch,loss,val_loss\n"))
    assert set(header_only.series) == {"loss", "val_loss"}


def test_numbers_without_a_header() -> None:
    run = one(read_text("0.9\n0.8\n0.7\n", name="train_loss.txt"))
    assert values(run, "train_loss") == [0.9, 0.8, 0.7]
    run = one(read_text("0,0.9,0.5\n1,0.8,0.6\n", name="data.csv"))
    assert set(run.series) == {"column 1", "column 2", "column 3"}


def test_elapsed_time_is_not_a_step_time() -> None:
    run = one(read_text("epoch,loss,time\n" + "".join(f"{i},{3 - i / 10},{12.5 * (i + 1)}\n" for i in range(8))))
    assert run.series["time"].meaning.kind == "time"
    assert run.series["loss"].times is not None
    run = one(read_text("epoch,loss,time\n" + "".join(f"{i},{3 - i / 10},{12.5 + i % 2}\n" for i in range(8))))
    assert run.series["time"].meaning.kind == "step_time"


def test_times_of_day() -> None:
    run = one(read_text("timestamp,step,loss\n2024-05-01 10:00:00,0,3\n2024-05-01 10:00:30,1,2\n"))
    times = run.series["loss"].times
    assert times is not None
    assert times[1] - times[0] == 30


def test_steps_of_an_episode_do_not_count_episodes() -> None:
    lengths = [50, 50, 6, 50, 42, 50, 28, 50, 50, 7, 50, 33]
    rows = "".join(f"{i + 1},{30.0 + i},{length}\n" for i, length in enumerate(lengths))
    run = one(read_text(f"episode,total_reward,steps\n{rows}"))
    assert steps(run, "total_reward") == [float(i) for i in range(1, 13)]


def test_duplicated_and_reversed_steps() -> None:
    newest_first = one(read_text("step,loss\n4,0.5\n3,1\n2,2\n1,3\n0,4\n"))
    assert values(newest_first, "loss") == [4, 3, 2, 1, 0.5]
    doubled = one(read_text("step,loss\n" + "".join(f"{i},{i}\n" for i in range(50)) + "49,99\n"))
    assert values(doubled, "loss")[-1] == 99


@pytest.mark.parametrize(
    "text",
    [
        "import os, sys\nfrom math import pi, e\nprint(1, 2)\n",
        "Dear reader, this is a letter, with commas.\nIt goes on, and on, and on.\n",
        '{"a": 1,\n "b": [1, 2, 3],\n "c": 4}\n',
        "2024-05-01 10:00:00,123 - INFO - Epoch 1 loss 0.5\n2024-05-01 10:00:01,456 - INFO - Epoch 2 loss 0.4\n",
        "Epoch 1, loss 0.5, acc 0.3\nEpoch 2, loss 0.4, acc 0.4\n",
        "model,accuracy,f1\nresnet,0.9,0.8\nvgg,0.8,0.7\nvit,0.7,0.6\nmlp,0.5,0.4\n",
        "contrast,energy,label\n0.1,0.5,a\n0.2,0.6,b\n0.3,0.7,a\n",
    ],
)
def test_what_is_no_table(text: str) -> None:
    assert csv_table.sniff(MemorySource(text.encode(), Path("x"), "x")) <= 0.2


def test_a_million_cells_agree_with_the_slow_path(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20_000, 4))
    lines = [
        ",".join(["" if abs(x) < 0.05 else "nan" if abs(x) < 0.06 else repr(float(x)) for x in row]) for row in table
    ]
    path = tmp_path / "big.csv"
    path.write_text("a_loss,b_loss,c_loss,d_loss\n" + "\n".join(lines) + "\n")
    fast = one(csv_table.read(Source(path)))
    path.write_text("a_loss,b_loss,c_loss,d_loss\n" + "\n".join(line + ",extra" for line in lines) + "\n")
    for index, name in enumerate(("a_loss", "b_loss", "c_loss", "d_loss")):
        column = table[:, index]
        kept = column[np.abs(column) >= 0.05]
        np.testing.assert_array_equal(fast.series[name].values, np.where(np.abs(kept) < 0.06, np.nan, kept))


def test_memory_stays_bounded(tmp_path: Path) -> None:
    path = tmp_path / "line.csv"
    path.write_bytes(b"epoch,loss\n0,1\n1," + b"9" * (6 << 20) + b"\n2,0.5\n3,0.4\n")
    run = one(csv_table.read(Source(path)))
    assert steps(run, "loss") == [0, 2, 3]


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64) | st.none(), min_size=3, max_size=3),
        min_size=1,
        max_size=30,
    )
)
def test_any_numbers_come_back_as_written(rows: list[list[float | None]]) -> None:
    text = "\n".join(",".join("" if cell is None else repr(cell) for cell in row) for row in rows)
    grid = Cutter(b",", 3).grid(text.encode())
    numbers = grid and grid.numbers([0, 1, 2])
    assert numbers is not None
    table, here = numbers
    for row, found, shown in zip(rows, table, np.ones(table.shape) if here is None else here, strict=True):
        assert [value if there else None for value, there in zip(found.tolist(), shown, strict=True)] == row


@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    survives(csv_table.READER, data)


@given(st.text(alphabet="step,los0123456789.;\t\n\"'-nae% |#{}", max_size=300))
def test_random_tables(text: str) -> None:
    survives(csv_table.READER, text.encode())


@given(st.integers(0, len(PLAIN) - 1), st.binary(min_size=1, max_size=3), st.booleans())
def test_damaged_tables(place: int, noise: bytes, cut: bool) -> None:
    data = (PLAIN * 20).encode()
    damaged = data[: 7 * place] if cut else data[: 5 * place] + noise + data[5 * place :]
    survives(csv_table.READER, damaged)


def test_a_wide_frame_that_pandas_wrapped_keeps_all_its_blocks() -> None:
    text = (
        "    epoch  train_loss  val_loss  \\\n0       1        2.30      2.40   \n1       2        2.03      2.15   \n"
        "2       3        1.79      1.92   \n\n   val_accuracy\n0          0.10\n1          0.14\n2          0.18  \n"
    )
    run = one(read_text(text))
    assert values(run, "train_loss") == [2.30, 2.03, 1.79]
    assert values(run, "val_accuracy") == [0.10, 0.14, 0.18]
    assert steps(run, "val_accuracy") == [1.0, 2.0, 3.0]
