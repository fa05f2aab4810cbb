"""The JSON-lines engine and JSON documents: every shape a log has been seen in, on small files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import one, read_text, survives
from traindx.readers.formats import json_document, jsonl
from traindx.readers.source import Source
from traindx.readers.tables.jsontext import parse_document, parse_line
from traindx.run import Run

ROWS = [{"step": step, "loss": 3.0 - step / 50, "lr": 0.1} for step in range(0, 100, 10)]
LINES = "\n".join(map(json.dumps, ROWS)) + "\n"


def values(run: Run, name: str) -> list[float]:
    return run.series[name].values.tolist()


def steps(run: Run, name: str) -> list[float]:
    return run.series[name].steps.tolist()


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        LINES.replace("\n", "\r\n"),
        "\ufeff" + LINES,
        LINES.replace("\n", "\n\n"),
        "\n".join(map(str, ROWS)),
        "\n".join(f"INFO {json.dumps(row)}" for row in ROWS),
        "[\n" + ",\n".join(map(json.dumps, ROWS)) + "\n]\n",
        LINES.replace("}", ",}"),
        "\n".join(json.dumps({key: str(value) for key, value in row.items()}) for row in ROWS),
        "loading data\n" + LINES + "done\n",
        "\n".join(json.dumps({"step": row["step"], "metrics": {"loss": row["loss"]}, "lr": row["lr"]}) for row in ROWS),
    ],
)
def test_the_same_rows_however_they_are_written(text: str) -> None:
    run = one(read_text(text, name="log.jsonl"))
    name = next(name for name in run.series if name.endswith("loss"))
    assert steps(run, name) == list(range(0, 100, 10))
    assert values(run, name) == [row["loss"] for row in ROWS]
    assert values(run, "lr") == [0.1] * 10


@pytest.mark.parametrize("word", ["NaN", "nan", "Infinity", "-Infinity", "-nan", "inf"])
def test_numbers_that_json_does_not_have(word: str) -> None:
    run = one(read_text('{"step": 0, "loss": 1.0}\n{"step": 1, "loss": ' + word + '}\n{"step": 2, "loss": 0.5}\n'))
    expected = float(word.replace("-nan", "nan"))
    found = values(run, "loss")
    assert found[0] == 1.0
    assert found[2] == 0.5
    assert math.isnan(found[1]) if math.isnan(expected) else found[1] == expected


def test_null_is_no_value() -> None:
    run = one(read_text('{"step": 0, "loss": 1.0, "val_loss": null}\n{"step": 1, "loss": 0.5, "val_loss": 2.0}\n'))
    assert steps(run, "val_loss") == [1]


def test_a_loss_that_ends_in_nulls_became_nan() -> None:
    rows = [{"step": step, "loss": 1.0 if step < 10 else None, "lr": 0.1} for step in range(30)]
    for extra in ({}, {"nested": {"a": 1}}):
        run = one(read_text("".join(json.dumps({**row, **extra}) + "\n" for row in rows)))
        assert steps(run, "loss") == list(range(30))
        assert np.isnan(run.series["loss"].values[10:]).all()
        assert "read as NaN" in run.lost[0]
    late = [*rows, {"step": 30, "loss": 0.5, "lr": 0.1}]
    assert len(one(read_text("".join(json.dumps(row) + "\n" for row in late))).series["loss"]) == 11


@pytest.mark.parametrize("extra", [{}, {"nested": {"a": 1}}])
def test_nulls_of_a_field_that_is_seldom_or_never_filled_in_are_no_nan(extra: dict[str, object]) -> None:
    def row(step: int) -> str:
        evaluated = 1.5 if step in (20, 40) else None
        return json.dumps({"step": step, "loss": 1.0, "eval_loss": evaluated, "predict_loss": None, **extra}) + "\n"

    run = one(read_text("".join(row(step) for step in range(60))))
    assert steps(run, "eval_loss") == [20, 40]
    assert "predict_loss" not in run.series or not len(run.series["predict_loss"])
    assert not run.lost
    stuck = one(read_text("".join(row(step) for step in range(100))))
    assert np.isnan(stuck.series["eval_loss"].values[2:]).all()


def test_the_planned_number_of_steps_is_no_counter() -> None:
    text = "".join(
        json.dumps(
            {"current_steps": 10 * s, "total_steps": 500, "loss": 1.0, "epoch": s / 9, "elapsed_time": f"0:00:{s:02}"}
        )
        + "\n"
        for s in range(1, 20)
    )
    run = one(read_text(text, name="trainer_log.jsonl"))
    assert steps(run, "loss") == list(range(10, 200, 10))
    assert run.config["total_steps"] == 500


def test_rows_of_different_kinds() -> None:
    text = "".join(
        json.dumps({"step": step, "loss": 1.0}) + "\n" + (json.dumps({"epoch": step, "step": step, "val_loss": 2.0,
                                                                      "chrf": 50}) + "\n") * (step % 3 == 0)
        for step in range(9)
    )  # fmt: skip
    run = one(read_text(text))
    assert steps(run, "loss") == list(range(9))
    assert steps(run, "val_loss") == [0, 3, 6]


@pytest.mark.parametrize("key", ["mode", "split", "phase"])
def test_a_key_that_says_train_or_val(key: str) -> None:
    text = "".join(
        json.dumps({"epoch": e, key: s, "loss": e + (s == "val")}) + "\n" for e in range(4) for s in ("train", "val")
    )
    run = one(read_text(text))
    assert values(run, "train/loss") == [0, 1, 2, 3]
    assert values(run, "val/loss") == [1, 2, 3, 4]


def test_settings_inside_the_log() -> None:
    run = one(read_text('{"config": {"lr": 0.1, "model": {"layers": 3}}}\n' + LINES))
    assert (run.config["lr"], run.config["model.layers"]) == (0.1, 3)
    assert len(run.series["loss"]) == 10


def test_a_line_torn_off_and_lines_of_talk_are_counted() -> None:
    run = one(read_text(LINES.replace("\n", "\nsome talk\n", 1)[:-12]))
    assert len(run.series["loss"]) == 9
    assert run.lost == ["the last line is cut off", "lines that are no JSON objects: 1"]


def test_long_rows() -> None:
    text = "".join(
        json.dumps({"step": s, "tag": t, "value": v}) + "\n"
        for s in range(5)
        for t, v in (("train/loss", s), ("lr", 0.1))
    )
    run = one(read_text(text))
    assert values(run, "train/loss") == [0, 1, 2, 3, 4]
    assert values(run, "lr") == [0.1] * 5


def test_a_new_key_late_in_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    rows: list[dict[str, Any]] = [{"step": step, "loss": step / 7} for step in range(20_000)]
    rows[15_000]["val_loss"] = 1.5
    rows[17_000]["loss"] = float("nan")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = one(jsonl.read(Source(path)))
    expected = np.arange(20_000) / 7
    expected[17_000] = np.nan
    np.testing.assert_array_equal(run.series["loss"].values, expected)
    assert (steps(run, "val_loss"), values(run, "val_loss")) == ([15_000], [1.5])


def test_a_resumed_and_a_second_run() -> None:
    def lines(first: int, last: int) -> str:
        return "".join(json.dumps({"step": step, "loss": 1.0}) + "\n" for step in range(first, last))

    resumed = one(read_text(lines(0, 60) + lines(40, 80)))
    assert [event.kind for event in resumed.events] == ["restart"]
    assert len(read_text(lines(0, 60) + lines(0, 30))) == 2


CURVE = [3.0, 2.0, 1.5, 1.2]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"train_loss": CURVE, "val_loss": CURVE}, {"train_loss": 4, "val_loss": 4}),
        ({"train": {"loss": CURVE, "acc": CURVE}, "val": {"loss": CURVE[:2], "acc": CURVE[:2]}},
         {"train/loss": 4, "train/acc": 4, "val/loss": 2, "val/acc": 2}),
        ({"results": {"metrics": {"train_loss": CURVE}}, "lr": 0.1}, {"train_loss": 4}),
        ([{"epoch": e, "train_loss": v, "val": {"loss": v}} for e, v in enumerate(CURVE)],
         {"train_loss": 4, "val/loss": 4}),
        ({"epochs": [{"epoch": e, "loss": v} for e, v in enumerate(CURVE)], "model": "x"}, {"loss": 4}),
        ({str(e): {"loss": v} for e, v in enumerate(CURVE)}, {"loss": 4}),
        ({"loss": {str(e): v for e, v in enumerate(CURVE)}, "val_loss": {str(e): v for e, v in enumerate(CURVE)}},
         {"loss": 4, "val_loss": 4}),
        ({"train": [{"step": s, "loss": v} for s, v in enumerate(CURVE)], "eval": [{"step": 2, "loss": 1.0}]},
         {"train/loss": 4, "val/loss": 1}),
        ({"loss": [[10 * s, v] for s, v in enumerate(CURVE)]}, {"loss": 4}),
        ({"loss": ["3.0", "2.0", None, "nan"], "acc": [[0.1], [0.2], [0.3], [0.4]]}, {"loss": 3, "acc": 4}),
    ],
)  # fmt: skip
def test_documents(document: Any, expected: dict[str, int]) -> None:
    for indent in (None, 2):
        run = one(read_text(json.dumps(document, indent=indent), name="history.json"))
        assert {name: len(series) for name, series in run.series.items()} == expected


def test_lists_with_their_own_counters() -> None:
    document = {
        "steps": [10, 20, 30, 40],
        "train_loss": CURVE,
        "val_steps": [20, 40],
        "val_loss": [2.5, 1.5],
        "lr": 0.1,
    }
    run = one(read_text(json.dumps(document)))
    assert steps(run, "train_loss") == [10, 20, 30, 40]
    assert steps(run, "val_loss") == [20, 40]
    assert run.config["lr"] == 0.1


def test_runs_by_name() -> None:
    runs = read_text(
        json.dumps({"resnet": {"loss": CURVE, "val_loss": CURVE}, "vgg": {"loss": CURVE[:3], "val_loss": CURVE[:3]}})
    )
    assert [(run.name, len(run.series["loss"])) for run in runs] == [("resnet", 4), ("vgg", 3)]


def test_a_document_cut_off_is_read_up_to_there() -> None:
    text = json.dumps([{"epoch": e, "loss": 1.0 / (e + 1)} for e in range(50)], indent=1)
    run = one(read_text(text[: len(text) // 2], name="log.json"))
    assert 20 <= len(run.series["loss"]) <= 26
    assert "breaks off" in run.lost[0]


@pytest.mark.parametrize(
    "document",
    [
        {"lr": 0.1, "layers": [64, 128], "name": "x"},
        {"images": [{"id": 1, "width": 5}], "annotations": []},
        [1, 2, 3],
        {},
        [],
    ],
)
def test_documents_without_curves_are_not_claimed(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(document))
    assert json_document.sniff(Source(path)) < 0.2
    assert jsonl.sniff(Source(path)) <= 0.2


def test_python_literals_are_read_not_run() -> None:
    assert parse_line("{'loss': tensor(0.5, device='cuda:0'), 'ok': True, 'x': nan}") == {
        "loss": 0.5,
        "ok": True,
        "x": "nan",
    }
    assert parse_line("{'loss': __import__('os').getcwd()}") is None


@given(st.recursive(st.none() | st.floats(allow_nan=False) | st.text(max_size=5),
                    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=4), x, max_size=4),
                    max_leaves=20), st.integers(0, 60))  # fmt: skip
def test_a_cut_document_never_raises(value: Any, place: int) -> None:
    text = json.dumps(value).encode()
    assert parse_document(text)[0] == value
    parse_document(text[:place])


@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    for reader in (jsonl.READER, json_document.READER):
        survives(reader, data)
        survives(reader, b'{"loss": ' + data)


@given(st.integers(0, len(LINES) - 1), st.binary(min_size=1, max_size=3), st.booleans())
def test_damaged_lines(place: int, noise: bytes, cut: bool) -> None:
    data = LINES.encode()
    damaged = data[:place] if cut else data[:place] + noise + data[place + 1 :]
    runs = survives(jsonl.READER, damaged)
    if not cut:
        assert sum(len(run.series["loss"]) for run in runs if "loss" in run.series) >= 7
