"""W&B runs: what wandb wrote comes back without wandb, whole or damaged."""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindx.errors import TraindxError
from traindx.readers.binary.wandb_record import of_this_run
from traindx.readers.formats.wandb import READER
from traindx.readers.source import Source
from traindx.readers.tables.tracker_rows import Sample
from traindx.run import Run

GOLDEN = Path(__file__).parent.parent / "golden" / "wandb"
BLOCK = 1 << 15


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_folder(folder: Path) -> Run:
    assert READER.claim is not None
    (bundle,) = READER.claim(folder, files_below(folder))
    assert set(files_below(folder)) == bundle.files
    (run,) = READER.read(Source(bundle.main))
    return run


def store_of(case: str) -> bytes:
    return next((GOLDEN / case).rglob("*.wandb")).read_bytes()


def read_bytes(data: bytes, folder: Path) -> Run:
    path = folder / "run-x.wandb"
    path.write_bytes(data)
    (run,) = READER.read(Source(path))
    return run


def same(series: object, expected: dict[str, list[float]]) -> None:
    np.testing.assert_array_equal(series.steps, expected["steps"])  # type: ignore[attr-defined]
    np.testing.assert_allclose(series.values, expected["values"], rtol=1e-15)  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", ["finished", "crashed", "resumed"])
def test_values_are_those_that_were_logged(case: str) -> None:
    run = read_folder(GOLDEN / case)
    expected = json.loads((GOLDEN / f"{case}.json").read_text())
    names = {name for name in run.series if not name.startswith("system/") and "(superseded)" not in name}
    assert names == set(expected)
    for name, series in expected.items():
        same(run.series[name], series)
        assert run.series[name].times is not None
    assert run.lost == []
    assert run.name == f"golden/mlp-{case}"
    assert {"lr": 0.05, "optimizer.name": "adamw", "num_classes": 10, "batch_size": 32}.items() <= run.config.items()


def test_how_the_run_ended() -> None:
    assert read_folder(GOLDEN / "finished").events[-1].kind == "finished"
    events = read_folder(GOLDEN / "crashed").events
    assert any(event.kind == "traceback" and "device-side assert" in event.text for event in events)
    assert not any(event.kind == "finished" for event in events)
    assert ("restart", 200.0) in [(event.kind, event.step) for event in read_folder(GOLDEN / "resumed").events]


def test_the_system_monitor_is_put_on_the_steps() -> None:
    series = read_folder(GOLDEN / "finished").series["system/proc/memory/rssMB"]
    assert series.meaning.kind == "memory"
    assert len(series) > 3
    assert 0 <= series.steps[0] < series.steps[-1] <= 119


def test_a_bare_file_keeps_its_console_events(tmp_path: Path) -> None:
    run = read_bytes(store_of("crashed"), tmp_path)
    assert any("device-side assert" in event.text for event in run.events)
    assert len(run.series["train/loss"]) == 120


def test_truncation_keeps_everything_before_it(tmp_path: Path) -> None:
    whole = store_of("finished")
    full = read_bytes(whole, tmp_path).series["train/loss"].values
    known = 0
    for cut in range(3000, len(whole), 2111):
        try:
            run = read_bytes(whole[:cut], tmp_path)
        except TraindxError:
            assert cut < 8000
            continue
        values = run.series["train/loss"].values
        assert len(values) >= known
        known = len(values)
        np.testing.assert_array_equal(values, full[:known])
    assert known > 110


def test_a_flipped_byte_costs_one_record_and_is_said(tmp_path: Path) -> None:
    whole = store_of("finished")
    full = read_bytes(whole, tmp_path)
    for place in range(7, len(whole), 487):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        run = read_bytes(bytes(damaged), tmp_path)
        kept = run.series["train/loss"]
        assert len(kept) >= 119, place
        np.testing.assert_array_equal(kept.values, full.series["train/loss"].values[np.isin(range(120), kept.steps)])
        in_padding = place % BLOCK > BLOCK - 8
        assert run.lost or in_padding or run.points == full.points, place


def test_a_lost_block_costs_only_itself(tmp_path: Path) -> None:
    whole = store_of("finished")
    damaged = whole[:BLOCK] + np.random.default_rng(0).bytes(BLOCK) + whole[2 * BLOCK :]
    run = read_bytes(damaged, tmp_path)
    steps = run.series["train/loss"].steps
    assert steps[0] == 0
    assert steps[-1] == 119
    assert len(steps) > 30
    assert "damaged" in run.lost[0]


def test_damaged_from_the_first_byte_it_is_still_known(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"????" + store_of("resumed")[4:])
    assert READER.sniff(Source(path)) == 1.0
    for other in (b"hello world " * 50, bytes(500), b":W&", bytes(range(256)) * 9):
        path.write_bytes(other)
        assert READER.sniff(Source(path)) == 0.0


CONSOLE = "".join(f"Epoch {e} train_loss: {2 / (e + 1):.4f} val_loss: {2.1 / (e + 1):.4f}\n" for e in range(20))


def run_folder(root: Path, console: str | None = None, summary: str | None = None) -> Path:
    home = root / "wandb" / "run-20250101_120000-abc12345" / "files"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("_wandb:\n  value: {cli_version: 0.22.2}\nlr:\n  desc: null\n  value: 0.003\n")
    if console is not None:
        (home / "output.log").write_text(console)
    if summary is not None:
        (home / "wandb-summary.json").write_text(summary)
    return home


def test_without_a_store_the_console_is_read(tmp_path: Path) -> None:
    home = run_folder(tmp_path, CONSOLE, '{"_step": 19, "_runtime": 5, "train_loss": 0.1}')
    run = read_folder(tmp_path)
    assert run.format == "wandb"
    assert len(run.series["train_loss"]) == 20
    assert run.config["lr"] == 0.003
    assert READER.sniff(Source(home / "output.log")) == 1.0
    (again,) = READER.read(Source(home / "output.log"))
    assert again.points == run.points


def test_the_rows_of_old_releases(tmp_path: Path) -> None:
    home = tmp_path / "wandb" / "dryrun-20200101_120000-abc12345"  # they had no folder named files
    home.mkdir(parents=True)
    rows = [
        json.dumps({"loss": 1 / (i + 1), "_step": 2 * i, "_timestamp": 1.6e9 + i, "_runtime": i}) for i in range(30)
    ]
    (home / "wandb-history.jsonl").write_text("\n".join([*rows, '{"loss": 0.', "null"]))
    (home / "wandb-summary.json").write_text('{"loss": 0.01}')
    (home / "config.yaml").write_text("wandb_version: 1\nlr:\n  desc: null\n  value: 0.003\n")
    run = read_folder(tmp_path)
    same(run.series["loss"], {"steps": list(range(0, 60, 2)), "values": [1 / (i + 1) for i in range(30)]})
    assert run.config["lr"] == 0.003
    assert "2 damaged lines" in run.lost[0]


def test_gpus_of_others_are_left_out() -> None:
    def kept(*names: str) -> set[str]:
        return {name for sample in of_this_run([Sample(0.0, dict.fromkeys(names, 1.0))]) for name in sample.values}

    assert kept("system/gpu/0/gpu", "system/x") == {"system/gpu/0/gpu", "system/x"}
    assert kept("system/gpu/0/gpu", "system/gpu/1/gpu", "system/x") == {"system/x"}
    assert kept("system/gpu/0/gpu", "system/gpu/process/0/gpu") == {"system/gpu/process/0/gpu"}


def test_a_crash_without_metrics_is_an_event(tmp_path: Path) -> None:
    text = (
        'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\ntorch.OutOfMemoryError: CUDA out '
        "of memory.\n"
    )
    run_folder(tmp_path, text, '{"_wandb": {"runtime": 3}}')
    run = read_folder(tmp_path)
    assert "oom" in [event.kind for event in run.events]


def test_only_a_summary_gives_the_last_values(tmp_path: Path) -> None:
    run_folder(
        tmp_path,
        None,
        '{"_step": 500, "_runtime": 60, "val": {"loss": 0.25}, "acc": "NaN", "img": {"_type": "image-file"}}',
    )
    run = read_folder(tmp_path)
    assert {name: (series.steps[0], series.values[0]) for name, series in run.series.items() if name != "acc"} == {
        "val.loss": (500.0, 0.25)
    }
    assert np.isnan(run.series["acc"].values[0])


def test_nothing_at_all_is_refused(tmp_path: Path) -> None:
    home = run_folder(tmp_path, "", "{}")
    with pytest.raises(TraindxError, match="without a logged metric"):
        READER.read(Source(home / "output.log"))


def test_many_runs_in_one_folder(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "wandb")
    assert READER.claim is not None
    found = READER.claim(tmp_path, files_below(tmp_path))
    assert len(found) == 3
    assert not any(path.suffix == ".json" for bundle in found for path in bundle.files)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def framed(records: list[bytes]) -> bytes:
    out = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        at, first = 0, True
        while first or at < len(record):
            left = BLOCK - len(out) % BLOCK
            if left < 7:
                out += bytes(left)
                left = BLOCK
            part = record[at : at + left - 7]
            at += len(part)
            kind = (1 if at == len(record) else 2) if first else (4 if at == len(record) else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first = False
    return bytes(out)


values = st.one_of(st.floats(), st.integers(-(10**400), 10**400), st.text(max_size=300), st.booleans(), st.none())


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.dictionaries(st.text(max_size=150), values, max_size=4), min_size=1, max_size=8),
    long=st.integers(1, 70_000),
)
def test_any_row_comes_back(rows: list[dict[str, object]], long: int, tmp_path: Path) -> None:
    records = [message(13, message(3, b"x" * long))]
    for step, row in enumerate(rows):
        logged = {f"m/{key}_loss": value for key, value in row.items()} | {"loss": 0.5, "_step": step}
        items = [
            message(1, message(2, key.encode()) + message(16, json.dumps(item).encode()))
            for key, item in logged.items()
        ]
        records.append(message(2, b"".join(items)))
    run = read_bytes(framed(records), tmp_path)
    assert len(run.series["loss"]) == len(rows)
    for step, row in enumerate(rows):
        for key, value in row.items():
            if isinstance(value, float):
                series = run.series[f"m/{key}_loss"]
                np.testing.assert_equal(series.values[series.steps == step][-1], value)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bytes_raise_anything_but_a_refusal(data: st.DataObject, tmp_path: Path) -> None:
    whole = bytearray(store_of("resumed")[:9000])
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=40)):
        whole[place] = byte
    records = data.draw(st.lists(st.binary(max_size=60), max_size=5))  # right checksums around nonsense
    for body in (bytes(whole), framed([message(2, record) for record in records] + records)):
        try:
            read_bytes(body, tmp_path)
        except TraindxError:
            continue
