"""TensorBoard event files: what the real writers wrote comes back, and damage costs only what it hit."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import struct
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from traindx.errors import TraindxError
from traindx.readers.binary import tfrecord
from traindx.readers.binary.crc32c import crc32c, crc32c_many, masked
from traindx.readers.binary.tfdecode import EventDecoder
from traindx.readers.formats.tensorboard import READER
from traindx.readers.source import Source
from traindx.run import Run

GOLDEN = Path(__file__).parent.parent / "golden" / "tensorboard"
RUNS = ("torch", "tensorboardx", "keras", "merged")


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def read_folder(folder: Path) -> Run:
    assert READER.claim is not None
    (bundle,) = READER.claim(folder, files_below(folder))
    (run,) = READER.read(Source(bundle.main))
    return run


def read_bytes(data: bytes, folder: Path) -> Run:
    path = folder / "events.out.tfevents.1.host"
    path.write_bytes(data)
    (run,) = READER.read(Source(path))
    return run


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(number: int, body: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(body)) + body


def event(step: int, values: dict[str, float], wall: float = 1.75e9) -> bytes:
    summary = b"".join(
        message(1, message(1, tag.encode()) + b"\x15" + struct.pack("<f", v)) for tag, v in values.items()
    )
    return b"\x09" + struct.pack("<d", wall) + b"\x10" + varint(step) + message(5, summary)


def record(payload: bytes) -> bytes:
    length = struct.pack("<Q", len(payload))
    return b"".join(
        (length, struct.pack("<I", masked(crc32c(length))), payload, struct.pack("<I", masked(crc32c(payload))))
    )


VERSION = record(b"\x09" + struct.pack("<d", 1.75e9) + message(3, b"brain.Event:2"))


@pytest.mark.parametrize("name", RUNS)
def test_values_are_those_that_were_written(name: str) -> None:
    run = read_folder(GOLDEN / name)
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    assert {key for key in run.series if "(superseded)" not in key} == set(expected)
    for key, series in expected.items():
        np.testing.assert_array_equal(run.series[key].steps, series["steps"], err_msg=key)
        np.testing.assert_array_equal(run.series[key].values, series["values"], err_msg=key)
        assert run.series[key].times is not None
    assert run.lost == []


def test_resumed_run_settings_and_helper_directories() -> None:
    run = read_folder(GOLDEN / "torch")
    assert [(found.kind, found.step) for found in run.events] == [("restart", 40.0)]
    assert len(run.series["train/loss (superseded)"]) == 20
    wanted = {"batch_size": 32, "model": "mlp", "learning_rate": 0.05, "optim": "adamw"}
    assert wanted.items() <= run.config.items()
    times = run.series["grad_norm"].times
    assert times is not None
    assert times[0] == 1_750_000_000.0
    for path in files_below(GOLDEN / "torch"):  # pointing at any of its files finds the whole run
        (again,) = READER.read(Source(path))
        assert set(again.series) == set(run.series)


def test_keras_directories_are_one_run_and_others_are_not(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "keras", tmp_path / "a")
    shutil.copytree(GOLDEN / "merged", tmp_path / "b")
    shutil.copytree(GOLDEN / "tensorboardx", tmp_path / "b" / "sweep_1")
    assert READER.claim is not None
    found = READER.claim(tmp_path, files_below(tmp_path))
    assert {bundle.main.parent.relative_to(tmp_path).as_posix() for bundle in found} == {"a/train", "b", "b/sweep_1"}


def test_settings_logged_as_a_table(tmp_path: Path) -> None:
    body = b"|param|value|\n|-|-|\n|learning_rate|0.00025|\n|env_id|Breakout-v4|\n|num_envs|8|"
    tensor = b"\x08\x07" + message(8, body)
    value = (
        message(1, b"hyperparameters/text_summary") + message(9, message(1, message(1, b"text"))) + message(8, tensor)
    )
    data = VERSION + record(event(0, {"loss": 1.0}) + b"") + record(b"\x09" + bytes(8) + message(5, message(1, value)))
    run = read_bytes(data, tmp_path)
    assert run.config["learning_rate"] == 0.00025
    assert run.config["num_envs"] == 8
    assert run.config["env_id"] == "Breakout-v4"


def test_epoch_counters_move_onto_the_iterations(tmp_path: Path) -> None:
    data = VERSION
    for step in range(1000):
        data += record(event(step, {"train/loss": 1 / (step + 1)}, wall=1.75e9 + step))
        if step % 100 == 99:
            data += record(event(step // 100, {"val/loss": 1.0}, wall=1.75e9 + step))
    run = read_bytes(data, tmp_path)
    np.testing.assert_allclose(run.series["val/loss"].steps, np.arange(99, 1000, 100))


def test_truncation_keeps_everything_before_it(tmp_path: Path) -> None:
    whole = (GOLDEN / "tensorboardx" / next(iter(p.name for p in files_below(GOLDEN / "tensorboardx")))).read_bytes()
    full = read_bytes(whole, tmp_path)
    with pytest.raises(TraindxError, match="without a single whole record"):
        read_bytes(whole[:20], tmp_path)
    points = -1
    for cut in [*range(len(VERSION), len(whole), 1499), len(whole) - 1]:
        run = read_bytes(whole[:cut], tmp_path)
        assert run.points >= points
        points = run.points
        for name, series in run.series.items():
            if name != "stepless_loss":
                np.testing.assert_array_equal(series.values, full.series[name].values[: len(series)])
    assert points == full.points - 1
    assert any("ends in the middle of a record" in sentence for sentence in run.lost)


@pytest.mark.parametrize("name", ["keras/train", "merged"])
def test_a_flipped_byte_costs_one_record_and_is_said(name: str, tmp_path: Path) -> None:
    whole = files_below(GOLDEN / name)[0].read_bytes()
    full = read_bytes(whole, tmp_path)
    most = 3 if name == "merged" else 1
    for place in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        run = read_bytes(bytes(damaged), tmp_path)
        assert run.points >= full.points - most, place
        assert run.lost, place
        for key, series in run.series.items():
            kept = np.isin(full.series[key].steps, series.steps)
            np.testing.assert_array_equal(series.values, full.series[key].values[kept])


def test_bytes_lost_or_added_inside_a_record(tmp_path: Path) -> None:
    whole = files_below(GOLDEN / "tensorboardx")[0].read_bytes()
    full = read_bytes(whole, tmp_path)
    for damaged in (
        whole[:5000] + whole[5007:],
        whole[:5000] + b"\r\n\r\n" + whole[5000:],
        whole[:9000] + whole[20000:],
    ):
        run = read_bytes(damaged, tmp_path)
        assert run.points >= full.points - 2 - max(0, len(whole) - len(damaged)) // 50
        assert run.lost


@pytest.mark.parametrize("chunk", [1, 13, 64, 1000])
def test_chunk_borders_do_not_matter(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bytearray(VERSION + b"".join(record(event(s, {"loss": s / 7, "acc": 0.5})) for s in range(60)))
    whole[700] ^= 1
    full = read_bytes(bytes(whole), tmp_path)
    monkeypatch.setattr(tfrecord, "CHUNK", chunk)
    run = read_bytes(bytes(whole), tmp_path)
    assert run.lost == full.lost
    for key in full.series:
        np.testing.assert_array_equal(run.series[key].values, full.series[key].values)


def test_gzipped_and_its_damage(tmp_path: Path) -> None:
    data = gzip.compress(VERSION + b"".join(record(event(s, {"loss": s / 7})) for s in range(5000)))
    assert len(read_bytes(data, tmp_path).series["loss"]) == 5000
    run = read_bytes(data[: len(data) // 2], tmp_path)
    assert 100 < len(run.series["loss"]) < 5000
    assert "compressed" in run.lost[-1]


def test_damage_everywhere_takes_linear_time(tmp_path: Path) -> None:
    one = record(event(1, {"loss": 1.0}))
    data = VERSION + (one + bytes(32)) * 20_000
    started = time.process_time()
    run = read_bytes(data, tmp_path)
    assert len(run.series["loss"]) == 20_000
    assert time.process_time() - started < 10


def test_every_payload_damaged(tmp_path: Path) -> None:
    records = [bytearray(record(event(step, {"loss": 1.0}))) for step in range(50)]
    for one in records:
        one[-6] ^= 1
    run = read_bytes(VERSION + b"".join(bytes(one) for one in records), tmp_path)
    assert run.points == 0
    assert "50 of 51 records are damaged" in run.lost[0]


def test_one_record_with_very_many_values(tmp_path: Path) -> None:
    many = record(event(1, {f"m{number}/loss": 1.0 for number in range(15_000)}))
    few = b"".join(record(event(step, {"loss": 1.0})) for step in range(2, 20_000))
    started = time.process_time()
    run = read_bytes(VERSION + many + few, tmp_path)
    assert run.points == 15_000 + 19_998
    assert time.process_time() - started < 10


def test_a_hostile_length_is_passed_over(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 31)
    data = VERSION + record(event(1, {"loss": 1.0})) + length + struct.pack("<I", masked(crc32c(length))) + bytes(100)
    run = read_bytes(data, tmp_path)
    assert run.points == 1
    assert run.lost


def test_sniffs_content_only(tmp_path: Path) -> None:
    path = tmp_path / "model.csv"
    shutil.copy(files_below(GOLDEN / "keras" / "train")[0], path)
    assert READER.sniff(Source(path)) == 1.0
    damaged = bytearray(path.read_bytes())
    damaged[:40] = bytes(40)
    path.write_bytes(damaged)
    assert READER.sniff(Source(path)) == 1.0
    example = message(1, message(1, message(1, b"image") + message(2, b"xyz")))  # tf.train.Example in the same framing
    for other in (record(example) * 20, b"loss,acc\n1,2\n", bytes(range(256)) * 50, b"\0" * 1000):
        path.write_bytes(other)
        assert READER.sniff(Source(path)) == 0.0


@given(st.lists(st.binary(max_size=1000), max_size=12))
def test_many_checksums_at_once(pieces: list[bytes]) -> None:
    assert crc32c_many(pieces) == [crc32c(piece) for piece in pieces]


def test_checksum_of_the_standard() -> None:
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c_many([bytes(range(32)) * 100, b"\xff" * 32])[1] == 0x62A8AB43


tags = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
floats = st.floats(width=32)
steps = st.one_of(st.integers(0, 300), st.integers(0, 1 << 40))
rows = st.tuples(steps, st.dictionaries(tags.map(lambda tag: f"m/{tag}x"), floats, min_size=1, max_size=3))


@settings(max_examples=60, deadline=None)
@given(st.lists(rows, min_size=1, max_size=12), st.integers(1, 8))
def test_any_scalars_come_back_in_order(written: list[tuple[int, dict[str, float]]], times: int) -> None:
    data = VERSION + b"".join(record(event(step, values)) for step, values in written) * times
    decoder = EventDecoder()
    found: dict[str, list[tuple[float, float]]] = {}
    for frames in tfrecord.RecordStream(io.BytesIO(data)):
        for tag, at, values, _ in decoder.points(frames):
            found.setdefault(tag, []).extend(zip(at.tolist(), values.tolist(), strict=True))
    expected: dict[str, list[tuple[float, float]]] = {}
    for step, row in written * times:
        for tag, value in row.items():
            expected.setdefault(tag, []).append((float(step), value))
    assert decoder.damaged == 0
    assert {tag: str(points) for tag, points in found.items()} == {tag: str(points) for tag, points in expected.items()}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_bytes_raise_anything_but_a_refusal(data: st.DataObject, tmp_path: Path) -> None:
    whole = bytearray(files_below(GOLDEN / "keras" / "train")[0].read_bytes()[:3000])
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=40)):
        whole[place] = byte
    body = bytes(whole) + data.draw(st.binary(max_size=200))
    try:
        run = read_bytes(body, tmp_path)
    except TraindxError:
        return
    assert run.points <= 200
