"""One change of a file at the level of its fields: a JSON member, a cell, a record with its checksum made right again.

What a format guards by a checksum would never be reached by flipping bits, so that frames are opened, changed inside
and closed again."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from values import VALUES, changed_bytes, changed_text, changed_tree

from traindx.readers.binary.crc32c import crc32c, masked

Mutation = Callable[[bytes, random.Random], bytes]
WANDB_HEADER = 7  # bytes of the file's own, then blocks of 32 KiB
WANDB_BLOCK = 1 << 15
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
PLAIN_CHANGE = 0.25  # share of the inputs that are changed as bytes, whatever the format


def mutated(name: str, data: bytes, dice: random.Random) -> bytes:
    """The content of a file of this name with one change."""
    change = mutation_of(name, data)
    if dice.random() < PLAIN_CHANGE:
        return changed_bytes(data, dice)
    try:
        return change(data, dice)
    except (
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        RecursionError,
        struct.error,
        zipfile.BadZipFile,
        yaml.YAMLError,
        sqlite3.Error,
    ):
        return changed_bytes(data, dice)  # the change itself was not one that this format can hold


def mutation_of(name: str, data: bytes) -> Mutation:
    """How fields of this file are changed."""
    known: tuple[tuple[bool, Mutation], ...] = (
        (data.startswith(b"SQLite format 3"), _sqlite),
        (data.startswith(b"PK\x03\x04"), _zip),
        (data.startswith(b":W&B"), _wandb),
        (".tfevents." in name, _tfrecord),
        (name.endswith(".safetensors"), _safetensors),
        (name.endswith((".yaml", ".yml")), _yaml),
        (data.lstrip()[:1] in b"{[" and _is_json(data), _json),
        (data.lstrip()[:1] == b"{", _json_lines),
        (name.endswith((".csv", ".tsv")), _cells),
    )
    return next((change for fits, change in known if fits), _text)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _dumped(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def _json(data: bytes, dice: random.Random) -> bytes:
    return _dumped(changed_tree(json.loads(data), dice))


def _json_lines(data: bytes, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 1, 2, 8))):
        place = dice.randrange(len(lines))
        try:
            lines[place] = _dumped(changed_tree(json.loads(lines[place]), dice))
        except ValueError:
            lines[place] = changed_bytes(lines[place], dice)
    return b"\n".join(lines)


def _yaml(data: bytes, dice: random.Random) -> bytes:
    return yaml.dump(changed_tree(yaml.load(data, _LOADER), dice), Dumper=_DUMPER).encode()


def _cells(data: bytes, dice: random.Random) -> bytes:
    mark = b"\t" if b"\t" in data else b","
    rows = [line.split(mark) for line in data.split(b"\n")]
    for _ in range(dice.choice((1, 1, 5))):
        row = dice.choice(rows)
        row[dice.randrange(len(row))] = str(dice.choice(VALUES))[:200].encode("utf-8", "replace")
    return b"\n".join(mark.join(row) for row in rows)


def _text(data: bytes, dice: random.Random) -> bytes:
    return changed_text(data.decode("utf-8", "replace"), dice).encode("utf-8", "replace")


def _sqlite(data: bytes, dice: random.Random) -> bytes:
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "db"
        path.write_bytes(data)
        with sqlite3.connect(path) as book:
            book.execute("PRAGMA foreign_keys=OFF")
            tables = [row[0] for row in book.execute("SELECT name FROM sqlite_master WHERE type='table'")]
            table = dice.choice(
                [name for name in tables if book.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]]
            )
            columns = [row[1] for row in book.execute(f'PRAGMA table_info("{table}")')]
            rows = [row[0] for row in book.execute(f'SELECT rowid FROM "{table}"')]
            value = dice.choice(
                [one for one in VALUES if isinstance(one, str | float | bool | None)] + [2**62, -1, b"\xff\x00"]
            )
            book.execute(
                f'UPDATE OR IGNORE "{table}" SET "{dice.choice(columns)}"=? WHERE rowid=?', (value, dice.choice(rows))
            )
        book.close()
        return path.read_bytes()


def _zip(data: bytes, dice: random.Random) -> bytes:
    """A checkpoint of torch or an archive of numpy: one member changed, the archive whole."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        names = old.namelist()
        chosen = (
            dice.choice([name for name in names if name.endswith((".pkl", ".npy"))] or names)
            if dice.random() < 0.8
            else dice.choice(names)
        )
        for name in names:
            content = old.read(name)
            if name == chosen:
                content = (
                    changed_bytes(content[:600], dice) + content[600:]
                    if name.endswith(".npy")
                    else changed_bytes(content, dice)
                )
            new.writestr(name, content)
    return made.getvalue()


def _safetensors(data: bytes, dice: random.Random) -> bytes:
    length = int.from_bytes(data[:8], "little")
    header = _dumped(changed_tree(json.loads(data[8 : 8 + length]), dice))
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _tfrecord(data: bytes, dice: random.Random) -> bytes:
    start, end = dice.choice(tf_records(data))
    record = changed_bytes(data[start + 12 : end - 4], dice)
    head = struct.pack("<Q", len(record))
    sums = [struct.pack("<I", masked(crc32c(piece))) for piece in (head, record)]
    return data[:start] + head + sums[0] + record + sums[1] + data[end:]


def tf_records(data: bytes) -> list[tuple[int, int]]:
    """Where each record of an event file begins and ends, its length and checksums included."""
    places = []
    place = 0
    while place + 12 <= len(data):
        (length,) = struct.unpack("<Q", data[place : place + 8])
        places.append((place, place + length + 16))
        place += length + 16
    return places


def _wandb(data: bytes, dice: random.Random) -> bytes:
    """A record inside one block of LevelDB's log, with its length kept."""
    changed = bytearray(data)
    start, end = dice.choice(wandb_records(data))
    body = changed_bytes(data[start + 7 : end], dice)[: end - start - 7].ljust(end - start - 7, b"\x00")
    changed[start + 7 : end] = body
    changed[start : start + 4] = zlib.crc32(changed[start + 6 : end]).to_bytes(4, "little")
    return bytes(changed)


def wandb_records(data: bytes) -> list[tuple[int, int]]:
    """Where each record that holds anything begins and ends, its checksum, length and kind included."""
    places = []
    place = WANDB_HEADER
    while place + 7 <= len(data):
        left = WANDB_BLOCK - place % WANDB_BLOCK
        if left < 7:
            place += left
            continue
        length = int.from_bytes(data[place + 4 : place + 6], "little")
        if length:
            places.append((place, place + 7 + length))
        place += 7 + length
    return places


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
