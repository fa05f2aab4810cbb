"""trackio databases: what the library logged comes back, whichever release wrote it."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindx.errors import TraindxError
from traindx.readers.formats.mlflow import READER as MLFLOW
from traindx.readers.formats.trackio import READER
from traindx.readers.source import Source

GOLDEN = Path(__file__).parent.parent / "golden" / "trackio" / "golden.db"


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


def test_values_are_those_that_were_logged() -> None:
    assert READER.sniff(Source(GOLDEN)) == 1.0
    assert MLFLOW.sniff(Source(GOLDEN)) == 0.0
    runs = {run.name: run for run in READER.read(Source(GOLDEN))}
    assert set(runs) == {"baseline", "broken"}
    series = runs["baseline"].series
    np.testing.assert_array_equal(series["train/loss"].steps, range(40))
    np.testing.assert_allclose(series["train/loss"].values, [loss_at(step) for step in range(40)], rtol=1e-15)
    np.testing.assert_array_equal(series["val/loss"].steps, range(9, 40, 10))
    np.testing.assert_array_equal(series["grads.norm"].values, [1.0 + step % 7 for step in range(40)])
    assert series["train/loss"].times is not None
    np.testing.assert_array_equal(runs["broken"].series["train/loss"].values[-3:], [math.nan, math.inf, -math.inf])
    assert runs["baseline"].config == {"lr": 0.05, "optimizer.name": "adamw", "classes": 10}
    assert [(event.kind, event.text) for event in runs["broken"].events] == [("warning", "loss is NaN: at step 37")]
    assert runs["baseline"].lost == []


def test_an_older_schema_and_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "project"
    database = sqlite3.connect(path)
    database.execute(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)"
    )
    rows = [
        (f"2025-08-01T10:00:{s:02d}", "one", s, json.dumps({"train/loss": 1 / (s + 1), "train/global_step": s * 50}))
        for s in range(20)
    ]
    rows += [
        ("yesterday", "two", s, json.dumps({"loss": "NaN" if s else 1, "image": {"_type": "x", "n": 1}}))
        for s in range(5)
    ]
    rows += [("", "one", 20, "{broken"), ("", "one", 21, "[1, 2]")]
    database.executemany("INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    one, two = READER.read(Source(path))
    np.testing.assert_array_equal(one.series["train/loss"].steps, range(0, 1000, 50))  # the trainer's own counter
    assert one.series["train/loss"].times is not None
    assert np.isnan(two.series["loss"].values[1:]).all()
    assert set(two.series) == {"loss"}
    assert two.series["loss"].times is None
    assert "2 rows" in one.lost[0]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_raises_anything_but_a_refusal(data: st.DataObject, tmp_path: Path) -> None:
    whole = bytearray(GOLDEN.read_bytes())
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=60)):
        whole[place] = byte
    path = tmp_path / "golden.db"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    if path.stat().st_size and READER.sniff(Source(path)):
        try:
            READER.read(Source(path))
        except TraindxError:
            return
