"""MLflow stores: both kinds give back what the library logged, and survive damage."""

from __future__ import annotations

import math
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.readers.formats.mlflow import READER
from traindx.readers.source import Source
from traindx.run import Run

GOLDEN = Path(__file__).parent.parent / "golden" / "mlflow"
DATABASE = GOLDEN / "mlflow.db"


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def from_files(folder: Path) -> list[Run]:
    assert READER.claim is not None
    runs: list[Run] = []
    for bundle in READER.claim(folder, files_below(folder)):
        try:
            runs.extend(READER.read(Source(bundle.main)))
        except TraindxError as error:
            runs.append(Run(error.message, "refused", name="refused"))
    return runs


def loss_at(step: int) -> float:
    return 2 * math.exp(-step / 30) + 0.1


@pytest.fixture(params=["sqlite", "files"])
def stored(request: pytest.FixtureRequest) -> dict[str, Run]:
    runs = READER.read(Source(DATABASE)) if request.param == "sqlite" else from_files(GOLDEN / "mlruns")
    return {run.name: run for run in runs if run.format != "refused"}


def test_values_are_those_that_were_logged(stored: dict[str, Run]) -> None:
    assert set(stored) == {"baseline", "broken"}  # the third was deleted
    series = stored["baseline"].series
    np.testing.assert_array_equal(series["train/loss"].steps, range(70))
    np.testing.assert_array_equal(series["train/loss"].values, [loss_at(step) for step in range(70)])
    np.testing.assert_array_equal(series["val/loss"].steps, range(9, 70, 10))
    np.testing.assert_array_equal(series["lr"].values, [0.05] * 70)
    times = series["lr"].times
    assert times is not None
    assert times[0] == 1_750_000_000.0
    np.testing.assert_array_equal(stored["broken"].series["train/loss"].values[-3:], [math.nan, math.inf, -math.inf])
    assert all(run.lost == [] for run in stored.values())


def test_settings_and_how_it_ended(stored: dict[str, Run]) -> None:
    assert stored["baseline"].config == {"lr": 0.05, "optimizer": "adamw", "batch_size": 32, "amp": True}
    assert [event.kind for event in stored["baseline"].events] == ["restart", "finished"]
    assert [event.kind for event in stored["broken"].events] == ["traceback"]


def test_all_files_are_claimed_also_those_of_a_deleted_run() -> None:
    assert READER.claim is not None
    below = files_below(GOLDEN / "mlruns")
    taken = {path for bundle in READER.claim(GOLDEN, below) for path in bundle.files}
    assert {path.name for path in set(below) - taken} == {"meta.yaml"}  # of the experiment
    assert sum(run.format == "refused" and "deleted" in run.source for run in from_files(GOLDEN / "mlruns")) == 1


def test_pointing_at_one_metric_reads_its_run() -> None:
    path = next(path for path in files_below(GOLDEN / "mlruns") if path.name == "lr" and path.parent.name == "metrics")
    assert READER.sniff(Source(path)) == 1.0
    (run,) = READER.read(Source(path))
    assert "train/loss" in run.series


def test_lines_of_two_and_five_fields(tmp_path: Path) -> None:
    folder = tmp_path / "0" / "abc"
    (folder / "metrics").mkdir(parents=True)
    (folder / "meta.yaml").write_text("run_uuid: abc\nname: old\nstatus: 5\nlifecycle_stage: active\nartifact_uri: x\n")
    (folder / "metrics" / "loss").write_text("".join(f"{1_600_000_000_000 + i} {1 / (i + 1)}\n" for i in range(10)))
    lines = "".join(f"{1_600_000_000_000 + i} {i / 10} {i * 5} data 1a2b\n" for i in range(10))
    (folder / "metrics" / "acc").write_text(lines + "garbage line here\n16000000")
    (run,) = from_files(tmp_path)
    assert run.series["loss"].axis == "row"
    assert len(run.series["loss"]) == 10
    np.testing.assert_array_equal(run.series["acc"].steps, range(0, 50, 5))
    assert "2 lines" in run.lost[0]
    assert [event.kind for event in run.events] == ["killed"]


def test_old_schema_and_unmerged_log(tmp_path: Path) -> None:
    path = tmp_path / "store"
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE runs (run_uuid TEXT, name TEXT, status TEXT, lifecycle_stage TEXT);"
        "CREATE TABLE metrics (key TEXT, value FLOAT, timestamp BIGINT, run_uuid TEXT);"
        "INSERT INTO runs VALUES ('a', '', 'RUNNING', 'active');"
    )
    database.executemany("INSERT INTO metrics VALUES ('loss', ?, ?, 'a')", [(1 / (i + 1), i * 1000) for i in range(9)])
    database.commit()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    assert "store-wal" in before
    assert READER.sniff(Source(path)) == 1.0
    (run,) = READER.read(Source(path))
    assert len(run.series["loss"]) == 9
    assert run.name == "a"
    assert before == {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    database.close()


def test_another_database_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE metrics (a, b)")
    database.commit()
    database.close()
    assert READER.sniff(Source(path)) == 0.0
    path.write_bytes(b"SQLite format 3\0" + bytes(2000))
    assert READER.sniff(Source(path)) == 0.0


def test_a_broken_page_costs_only_its_rows(tmp_path: Path) -> None:
    whole = DATABASE.read_bytes()
    path = tmp_path / "mlflow.db"
    full = {run.name: run.points for run in READER.read(Source(DATABASE))}
    recovered = 0
    for page in range(1, len(whole) // 1024):
        path.write_bytes(whole[: page * 1024] + b"\xa5" * 1024 + whole[(page + 1) * 1024 :])
        try:
            runs = READER.read(Source(path))
        except TraindxError:
            continue
        points = sum(run.points for run in runs)
        if points < sum(full.values()) and len(runs) == len(full):
            assert any("damaged" in sentence for run in runs for sentence in run.lost), page
            recovered += points > 0
    assert recovered > 5


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_raises_anything_but_a_refusal(data: st.DataObject, tmp_path: Path) -> None:
    whole = bytearray(DATABASE.read_bytes())
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=60)):
        whole[place] = byte
    path = tmp_path / "mlflow.db"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    if path.stat().st_size and READER.sniff(Source(path)):
        try:
            READER.read(Source(path))
        except TraindxError:
            return


def test_truncated_file_store(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "mlruns", tmp_path / "mlruns")
    for path in files_below(tmp_path / "mlruns"):
        if path.parent.name == "train":
            path.write_bytes(path.read_bytes()[:500] + b"\xff\xfe\x00")
    runs = [run for run in from_files(tmp_path) if run.format != "refused"]
    assert all(5 < len(run.series["train/loss"]) < 30 for run in runs)


def test_runs_beside_each_other_whose_curves_are_alike_are_all_kept(tmp_path: Path) -> None:
    """Values of one long curve lie close to values of another; that makes them no copies."""
    experiment = tmp_path / "mlruns" / "1"
    steps = np.arange(2000)
    for number in range(3):
        folder = experiment / f"{number:032x}"
        (folder / "metrics").mkdir(parents=True)
        (folder / "meta.yaml").write_text(
            f"run_id: {number:032x}\nrun_uuid: {number:032x}\nexperiment_id: '1'\nrun_name: r{number}\nstatus: "
            f"3\nlifecycle_stage: active\n"
        )
        losses = 2 * np.exp(-steps / 400) + 0.3 + np.random.default_rng(number).normal(0, 0.02, len(steps))
        lines = [f"1700000000000 {loss} {step}\n" for step, loss in zip(steps, losses, strict=True)]
        (folder / "metrics" / "train_loss").write_text("".join(lines))
    assert len(find_runs([tmp_path])) == 3
    shutil.copytree(experiment / f"{0:032x}", experiment / "copy")
    assert len(find_runs([tmp_path])) == 3
