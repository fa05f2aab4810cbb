"""Files that attack: nothing in them may run, and each is refused in one sentence with bounded memory and time."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_files import mlp, trained, write_header, write_safetensors
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from traindx.checkpoints.evidence import reading_of
from traindx.checkpoints.find import open_checkpoint
from traindx.checkpoints.layers import measured
from traindx.checkpoints.pickled import UnsafeFile
from traindx.cli import main
from traindx.errors import TraindxError

ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


class Payload:
    """Unpickling this runs a command."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.canary}",)


def torch_zip(path: Path, data: bytes, **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/byteorder", "little")
        for name, content in more.items():
            archive.writestr(f"archive/data/{name}", content)
    return path


def payloads(canary: Path) -> dict[str, bytes]:
    """The ways a pickle can call something, each creating the canary when it is loaded by Python."""
    call = f"touch {canary}".encode()
    text = b"X" + struct.pack("<I", len(call)) + call
    code = f"__import__('os').system('touch {canary}')".encode()
    short = b"\x8c\x02os\x8c\x06system"
    return {
        "REDUCE": b"\x80\x02cos\nsystem\n" + text + b"\x85R.",
        "STACK_GLOBAL": b"\x80\x04" + short + b"\x93" + text + b"\x85R.",
        "INST": b"\x80\x02(" + text + b"ios\nsystem\n.",
        "OBJ": b"\x80\x02(cos\nsystem\n" + text + b"o.",
        "eval": b"\x80\x02c__builtin__\neval\nX" + struct.pack("<I", len(code)) + code + b"\x85R.",
        "memo": b"\x80\x02cos\nsystem\nq\x000h\x00" + text + b"\x85R.",
        "hidden in a list": b"\x80\x02]q\x00(K\x01K\x02cos\nsystem\n" + text + b"\x85Re.",
        "getattr": b"\x80\x02cbuiltins\ngetattr\ncos\npath\nX\x04\x00\x00\x00join\x86R.",
        "import alone": b"\x80\x02cantigravity\nfly\n.",
        "stops half-way": b"\x80\x02cos\nsystem\n" + text + b"\x85R",
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(payloads(Path("x"))))
def test_a_pickle_that_runs_code_is_refused_unexecuted(tmp_path: Path, kind: str) -> None:
    canary = tmp_path / "canary"
    data = payloads(canary)[kind]
    for path in (torch_zip(tmp_path / "a.pt", data), tmp_path / "plain.pkl"):
        (tmp_path / "plain.pkl").write_bytes(data)
        with pytest.raises(UnsafeFile) as refused:
            open_checkpoint(path)
        assert refused.value.runs
        assert "would execute" in str(refused.value)
    assert not canary.exists()


def test_the_payloads_are_real(tmp_path: Path) -> None:
    """The canary does appear when Python itself loads them, so that the test above can fail."""
    for kind in ("REDUCE", "STACK_GLOBAL", "INST", "OBJ", "eval", "memo", "hidden in a list"):
        canary = tmp_path / kind.replace(" ", "-")
        pickle.loads(payloads(canary)[kind])
        assert canary.exists(), kind


def test_the_command_lists_what_would_run_and_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"w": torch.ones(3), "x": Payload(tmp_path / "canary")}, tmp_path / "a.pt")
    torch.save(mlp(), tmp_path / "model.pt")
    torch.save({"x": Payload(tmp_path / "canary")}, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    for name, word in (
        ("a.pt", "posix.system"),
        ("old.pt", "posix.system"),
        ("model.pt", "torch.nn.modules.linear.Linear"),
    ):
        assert main(["checkpoint", str(tmp_path / name)]) == 2
        told = capsys.readouterr()
        assert word in told.err
        assert told.err.count("\n") == 1
        assert not told.out
    assert not (tmp_path / "canary").exists()


def test_an_unsafe_optimizer_leaves_the_weights_readable(tmp_path: Path) -> None:
    write_safetensors(tmp_path / "model.safetensors", {"a": np.ones((2, 2), np.float32)})
    torch.save({"state": Payload(tmp_path / "canary")}, tmp_path / "optimizer.pt")
    found = open_checkpoint(tmp_path)
    assert "would execute" in found.lost[0]
    assert not (tmp_path / "canary").exists()


def test_names_cannot_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch_zip(tmp_path / "a.pt", b"\x80\x02cos\x1b[2J\nsystem\n.")
    assert main(["checkpoint", str(tmp_path / "a.pt")]) == 2
    write_safetensors(tmp_path / "b.safetensors", {"w\x1b[31m\nx": np.ones((20, 20), np.float32)})
    main(["checkpoint", str(tmp_path / "b.safetensors")])
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err


ABSURD: dict[str, Callable[[Path], Path]] = {
    "header beyond the file": lambda p: write_header(p, b"{}", length=1 << 40),
    "header of all bits": lambda p: write_header(p, b"{}", length=(1 << 64) - 1),
    "no JSON": lambda p: write_header(p, b"{nonsense"),
    "deep JSON": lambda p: write_header(p, b'{"a":' + b"[" * 200_000),
    "huge shape": lambda p: write_header(p, {"a": {**ENTRY, "shape": [1 << 60, 1 << 60]}}, bytes(8)),
    "negative shape": lambda p: write_header(p, {"a": {**ENTRY, "shape": [-2]}}, bytes(8)),
    "many dimensions": lambda p: write_header(p, {"a": {**ENTRY, "shape": [1] * 10_000 + [2]}}, bytes(8)),
    "offsets beyond the file": lambda p: write_header(p, {"a": {**ENTRY, "data_offsets": [0, 1 << 50]}}, bytes(8)),
    "offsets backwards": lambda p: write_header(p, {"a": {**ENTRY, "data_offsets": [8, 0]}}, bytes(8)),
    "overlap": lambda p: write_header(p, {"a": ENTRY, "b": {**ENTRY, "data_offsets": [4, 12]}}, bytes(12)),
    "hole": lambda p: write_header(p, {"a": ENTRY, "b": {**ENTRY, "data_offsets": [16, 24]}}, bytes(24)),
    "size and shape differ": lambda p: write_header(p, {"a": {**ENTRY, "shape": [3]}}, bytes(8)),
    "described by a number": lambda p: write_header(p, {"a": 3}, bytes(8)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ABSURD)
def test_absurd_safetensors_headers(tmp_path: Path, kind: str) -> None:
    with pytest.raises(TraindxError):
        open_checkpoint(ABSURD[kind](tmp_path / "a.safetensors"))


def rebuilt(shape: bytes, strides: bytes, count: bytes = b"K\x02", offset: bytes = b"K\x00") -> bytes:
    """A pickle of one tensor with this shape over a storage of this many elements."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + count + b"tQ"
    return (
        b"\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n("
        + storage
        + offset
        + shape
        + strides
        + b"\x89NtRs."
    )


@pytest.mark.parametrize(
    "data",
    [
        rebuilt(b"\x8a\x08" + b"\xff" * 7 + b"\x0f\x85", b"K\x01\x85"),  # a shape of 2**60
        rebuilt(b"K\x02\x85", b"J\xff\xff\xff\x7f\x85"),  # a stride out of the storage
        rebuilt(b"K\x02\x85", b"K\x01\x85", count=b"J\xff\xff\xff\x7f"),  # a storage larger than its entry
        rebuilt(b"K\x02\x85", b"K\x01\x85", offset=b"J\xff\xff\xff\x7f"),
        rebuilt(b"K\x02\x85", b"J\xff\xff\xff\xff\x85"),  # a negative stride
        rebuilt(b"K\x02K\x02\x86", b"K\x01\x85"),  # two sizes, one stride
    ],
)
def test_tensors_that_reach_beyond_their_storage(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(TraindxError):
        open_checkpoint(torch_zip(tmp_path / "a.pt", data, **{"0": bytes(8)}))


def test_the_same_tensor_within_its_storage_is_read(tmp_path: Path) -> None:
    path = torch_zip(tmp_path / "a.pt", rebuilt(b"K\x02\x85", b"K\x01\x85"), **{"0": struct.pack("<ff", 3, 4)})
    assert measured(open_checkpoint(path)).layers["w"].stats.norm == 5


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",  # lists in lists
        b"\x80\x02}"
        + b"K\x01"
        + b"\x85" * 100_000
        + b"K\x02s.",  # a key of nested tuples, which Python hashes by recursion
        b"\x80\x02]q\x00h\x00a.",  # a list in itself
        b"\x80\x04" + b"".join(b"]\x94(h" + bytes([i]) * 1 + b"h" + bytes([i]) + b"e\x94" for i in range(40)) + b".",
        b"\x80\x02(" * 1000 + b".",
        b"\x80\x04\x8e" + (1 << 62).to_bytes(8, "little") + b"x.",  # bytes longer than any memory
        b"\x80\x02\x8b\xff\xff\xff\x7fx.",
        b"I" + b"9" * 1_000_000 + b"\n.",
    ],
)
def test_pickles_that_exhaust(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(TraindxError):
        open_checkpoint(torch_zip(tmp_path / "a.pt", data))


def test_zip_bombs(tmp_path: Path) -> None:
    packed = tmp_path / "packed.pt"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02]." + bytes(1 << 24))
    bomb = bytearray(packed.read_bytes())
    place = bomb.rfind(b"PK\x01\x02")
    bomb[place + 24 : place + 28] = struct.pack("<I", 0xFFFFFFF0)  # claims four gigabytes from a few kilobytes
    (tmp_path / "bomb.npz").write_bytes(bomb)
    for name, word in (("packed.pt", "packed or too large"), ("bomb.npz", "zip bomb")):
        with pytest.raises(TraindxError, match=word):
            open_checkpoint(tmp_path / name)


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """An archive whose directory lists the same bytes many times over."""
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", bytes(4096))
    data = (tmp_path / "a.npz").read_bytes()
    start = data.rfind(b"PK\x01\x02")
    entry, end = data[start : data.rfind(b"PK\x05\x06")], data[data.rfind(b"PK\x05\x06") :]
    copies = b"".join(entry.replace(b"a.npy", f"{i:01d}.npy".encode()) for i in range(10))
    end = end[:8] + struct.pack("<HHII", 10, 10, len(copies), start) + end[20:]
    (tmp_path / "a.npz").write_bytes(data[:start] + copies + end)
    with pytest.raises(TraindxError, match="overlap"):
        open_checkpoint(tmp_path / "a.npz")


def _samples() -> dict[str, bytes]:
    made: dict[str, bytes] = {}
    state = {"w": torch.ones(4, 6), "b": torch.zeros(6, dtype=torch.bfloat16), "n": 3}
    for name, zipped in (("a.pt", True), ("old.pt", False)):
        stream = io.BytesIO()
        torch.save(state, stream, _use_new_zipfile_serialization=zipped)
        made[name] = stream.getvalue()
    stream = io.BytesIO()
    torch.save({**trained(mlp(8), steps=2), "hyper_parameters": {"lr": 10**400}, "iteration": 10**400}, stream)
    made["whole.pt"] = stream.getvalue()
    stream = io.BytesIO()
    np.savez_compressed(stream, w=np.ones((5, 5)), v=np.arange(4))
    made["a.npz"] = stream.getvalue()
    return made


SAMPLES = _samples()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("damaged")
    SAMPLES["a.safetensors"] = write_safetensors(
        place / "s.safetensors", {"w": np.ones((3, 3)), "v": np.arange(4)}
    ).read_bytes()
    return place


@given(st.sampled_from(["a.pt", "whole.pt", "old.pt", "a.npz", "a.safetensors"]), st.data())
def test_damaged_bytes_never_raise_anything_else(folder: Path, name: str, data: st.DataObject) -> None:
    """Cut off, overwritten or enlarged: read as far as it is sound, or refused."""
    raw = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw[place : place + 1] = data.draw(st.binary(max_size=6))
    cut = data.draw(st.sampled_from([len(raw), len(raw), data.draw(st.integers(0, len(raw)))]))
    path = folder / name
    path.write_bytes(bytes(raw[:cut]))
    try:
        reading_of(measured(open_checkpoint(path)))
    except TraindxError as error:
        assert "\n" not in str(error)


@given(st.binary(max_size=300))
def test_any_pickle_is_followed_or_refused(folder: Path, tail: bytes) -> None:
    path = folder / "any.pkl"
    path.write_bytes(b"\x80\x02" + tail)
    with pytest.raises(TraindxError):
        open_checkpoint(path)


BIG = """
import resource, sys, time
from traindx.cli import main
began = time.process_time()
code = main(["checkpoint", sys.argv[1], "-o", sys.argv[2]])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, time.process_time() - began)
"""


@pytest.mark.slow
def test_eight_gigabytes_are_read_in_less_than_one(tmp_path: Path) -> None:
    """Two shards of sparse files, 4.3 thousand million bfloat16 numbers."""
    size, names = 4096 * 4096 * 2, {}
    for shard in range(2):
        header = {}
        for place in range(128):
            name = f"layers.{shard * 32 + place // 4}.part{place % 4}.weight"
            header[name] = {"dtype": "BF16", "shape": [4096, 4096], "data_offsets": [place * size, (place + 1) * size]}
            names[name] = f"{shard}.safetensors"
        path = write_header(tmp_path / f"{shard}.safetensors", header)
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size + 128 * size)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    done = subprocess.run(
        [sys.executable, "-c", BIG, str(tmp_path), str(tmp_path / "out.txt")],
        capture_output=True,
        text=True,
        check=True,
    )
    code, megabytes, seconds = done.stdout.split()
    assert code == "0"
    assert int(megabytes) < 1000
    assert float(seconds) < 300
    assert "4,294,967,296 numbers" in (tmp_path / "out.txt").read_text()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1_000_000


@pytest.mark.filterwarnings("error")
def test_a_pickle_whose_names_hold_odd_escapes(tmp_path: Path) -> None:
    (tmp_path / "odd.pt").write_bytes(b"\x80\x02coll\\hections\nOrdered\\hDict\n)R.")
    with pytest.raises(TraindxError):
        open_checkpoint(tmp_path / "odd.pt")


def test_names_with_signs_that_are_no_numbers_are_put_in_order(tmp_path: Path) -> None:
    names = ["layer.10.weight", "layer.\u00b2.weight", "layer.2.weight", "layer.\u0663.weight"]
    save_file({name: np.ones((4, 4), np.float32) for name in names}, tmp_path / "a.safetensors")
    assert list(open_checkpoint(tmp_path / "a.safetensors").weights) == [names[2], names[3], names[0], names[1]]
