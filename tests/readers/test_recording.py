"""Recordings are read lazily, and damage costs no more than what it hit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from traindx.live.recording.store import NAMED, Store
from traindx.measurements import SCHEMA
from traindx.readers import recorded_rows
from traindx.readers.find import find_runs
from traindx.run import Run

LAYERS = [f"grad_norm/layer{number}" for number in range(NAMED)]


def recorded(folder: Path, steps: int = 40) -> Path:
    """Losses at every step, layers at every tenth, in flushes of ten."""
    store = Store(folder / "r.traindx")
    store.line("meta", schema=SCHEMA, argv=["train.py"], rank=0, world=1)
    for step in range(steps):
        values = {"train_loss": math.nan if step == 7 else 1 / (step + 1), "epoch": step // 10}
        store.row(step, values | ({name: float(step) for name in LAYERS} if step % 10 == 0 else {}))
        if step % 10 == 9:
            store.flush()
    store.close()
    return store.path


def only(path: Path) -> Run:
    (run,) = find_runs([path.parent])
    return run


def test_long_lists_of_names_are_written_once(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in recorded(tmp_path).read_text().splitlines()]
    assert [line["k"] for line in lines].count("names") == 1
    assert sum(line["k"] == "rows" and line["names"] == 0 for line in lines) == 4


def test_values_come_as_they_were_written(tmp_path: Path) -> None:
    run = only(recorded(tmp_path))
    assert set(run.series) == {"train_loss", *LAYERS}
    loss = run.series["train_loss"]
    np.testing.assert_array_equal(loss.steps, np.arange(40))
    np.testing.assert_allclose(loss.values, [math.nan if step == 7 else 1 / (step + 1) for step in range(40)], 1e-8)
    assert run.series[LAYERS[3]].values.tolist() == [0, 10, 20, 30]
    assert (run.steps, run.axis, run.lost) == (39, "step", [])


def test_only_what_is_asked_for_is_decoded(tmp_path: Path) -> None:
    run = only(recorded(tmp_path))
    with mock.patch.object(recorded_rows, "_decoded", side_effect=recorded_rows._decoded) as decoded:
        assert len(run.series[LAYERS[0]]) == 4
        assert run.steps == 39
        assert not decoded.called
        run.series[LAYERS[0]].values.sum()
        first = decoded.call_count
        assert first == 4
        run.series[LAYERS[1]].values.sum()
        assert decoded.call_count == first, "layers that were written together are decoded together"


def test_a_copy_with_a_change_has_the_numbers(tmp_path: Path) -> None:
    series = only(recorded(tmp_path)).series[LAYERS[0]]
    other = replace(series, values=series.values[:2] + 1, steps=series.steps[:2])
    assert (len(other), other.last, other.values.tolist()) == (2, 10.0, [1, 11])


@pytest.mark.parametrize("kept", [0.5, 0.9])
def test_a_file_that_is_cut_off_loses_its_last_line(tmp_path: Path, kept: float) -> None:
    path = recorded(tmp_path)
    text = path.read_text()
    path.write_text(text[: int(len(text) * kept)])
    run = only(path)
    assert 9 <= run.series["train_loss"].last < 39
    assert run.lost == ["1 line of the recording could not be read (damaged, or cut off while writing)."]


def test_rows_whose_names_are_lost_are_counted(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.write_text("".join(line for line in path.open() if '"k": "names"' not in line))
    run = only(path)
    assert set(run.series) == {"train_loss"}
    assert run.lost[0].startswith("4 lines of the recording could not be read")


def test_damage_inside_a_row_is_told_when_it_is_found(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.write_text(path.read_text().replace("[20, ", "[20, oops, ", 1))
    run = only(path)
    assert run.series[LAYERS[0]].values.tolist() == [0, 10, 30]
    assert any("could not be read" in line for line in run.lost)


def test_what_a_probe_does_not_see_takes_nothing_from_the_recorder(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    with path.open("a") as file:
        for present, probe in ((False, None), (False, "sanity")):
            told = {"k": "fact", "id": "no-gradient", "present": present, "evidence": str(probe)}
            file.write(json.dumps(told | ({"probe": probe} if probe else {})) + "\n")
        file.write(
            json.dumps({"k": "fact", "id": "dead-units", "present": False, "evidence": "seen", "probe": "sanity"})
            + "\n"
        )
        file.write(
            json.dumps({"k": "fact", "id": "dead-units", "present": True, "evidence": "later", "probe": "sanity"})
            + "\n"
        )
    facts = only(path).facts
    assert (facts["no-gradient"].evidence, facts["no-gradient"].probe) == ("None", None)
    assert facts["dead-units"].present
