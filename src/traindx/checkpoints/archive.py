"""The directory of a zip archive, read without unpacking anything: where each entry's bytes lie. Strict, and bounded
before it allocates: torch and numpy write plain archives, whatever else there is was not written by them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from traindx.errors import TraindxError

MOST_DIRECTORY = 1 << 27  # bytes; a torch file needs about 80 for each tensor
STORED, DEFLATED = 0, 8
SWOLLEN, SWOLLEN_BYTES = 200, 1 << 30  # an entry that unpacks to a gigabyte of at least 200 times its size is a bomb
_END, _END_64, _ENTRY, _LOCAL = b"PK\x05\x06", b"PK\x06\x06", b"PK\x01\x02", b"PK\x03\x04"
_AGAIN = "It is damaged or cut off; copy or download it again."
_FULL = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Entry:
    """One file inside: its bytes begin at `offset` and are `packed` bytes long, `size` once unpacked."""

    name: str
    method: int
    packed: int
    size: int
    offset: int


def entries(path: Path, begin: int = 0, length: int | None = None) -> dict[str, Entry]:
    """Every entry by name, of a whole file or of an archive that lies within one."""
    size = path.stat().st_size - begin if length is None else length
    with path.open("rb") as file:
        try:
            return _entries(file, path, begin, size)
        except (struct.error, UnicodeDecodeError) as error:
            raise TraindxError(f"{path} has a damaged zip directory ({error}).", _AGAIN) from error


def _entries(file: BinaryIO, path: Path, begin: int, size: int) -> dict[str, Entry]:
    count, length, start = _end(file, path, begin, size)
    if length > min(size, MOST_DIRECTORY) or start + length > size or count > length // 46:
        raise TraindxError(
            f"{path} has a zip directory of {length} bytes for {count} entries, which cannot be.", _AGAIN
        )
    file.seek(begin + start)
    directory = file.read(length)
    found: dict[str, Entry] = {}
    place = total = 0
    for _ in range(count):
        if directory[place : place + 4] != _ENTRY:
            raise TraindxError(f"{path} has a damaged zip directory.", _AGAIN)
        flags, method, packed, full, name_length, extra_length, comment, header = _record(directory, place)
        name = directory[place + 46 : place + 46 + name_length].decode("utf-8" if flags & 0x800 else "cp437")
        extra = directory[place + 46 + name_length : place + 46 + name_length + extra_length]
        full, packed, header = _wide(extra, full, packed, header)
        place += 46 + name_length + extra_length + comment
        if flags & 1 or method not in (STORED, DEFLATED) or (method == STORED and packed != full):
            raise TraindxError(f"{path}: {name[:200]!r} is encrypted or packed in a way no checkpoint is.", _AGAIN)
        if full > SWOLLEN_BYTES and full > SWOLLEN * packed:
            raise TraindxError(
                f"{path}: {name[:200]!r} would unpack from {packed} to {full} bytes: a zip bomb, not a checkpoint.",
                "It was not read.",
            )
        total += packed
        if header + 30 + packed > size or total > size or name in found:
            raise TraindxError(f"{path}: the entries of the archive overlap or reach beyond its end.", _AGAIN)
        file.seek(begin + header)
        local = file.read(30)
        if local[:4] != _LOCAL:
            raise TraindxError(f"{path}: {name[:200]!r} is not where the zip directory says.", _AGAIN)
        data = header + 30 + sum(struct.unpack("<HH", local[26:30]))
        if data + packed > size:
            raise TraindxError(f"{path} is cut off within {name[:200]!r}.", _AGAIN)
        found[name] = Entry(name, method, packed, full, begin + data)
    return found


def _record(directory: bytes, place: int) -> tuple[int, int, int, int, int, int, int, int]:
    flags, method = struct.unpack_from("<HH", directory, place + 8)
    packed, full, name, extra, comment = struct.unpack_from("<IIHHH", directory, place + 20)
    (header,) = struct.unpack_from("<I", directory, place + 42)
    return flags, method, packed, full, name, extra, comment, header


def _wide(extra: bytes, full: int, packed: int, header: int) -> tuple[int, int, int]:
    """The 64-bit sizes, which stand in an extra field in this order, each only where the short one is full."""
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == 1:
            wide = list(struct.unpack_from(f"<{length // 8}Q", extra, place + 4))
            full = wide.pop(0) if full == _FULL and wide else full
            packed = wide.pop(0) if packed == _FULL and wide else packed
            header = wide.pop(0) if header == _FULL and wide else header
            break
        place += 4 + length
    return full, packed, header


def _end(file: BinaryIO, path: Path, begin: int, size: int) -> tuple[int, int, int]:
    """How many entries there are, and where their directory lies."""
    tail_length = min(size, (1 << 16) + 22)
    file.seek(begin + size - tail_length)
    tail = file.read(tail_length)
    place = tail.rfind(_END)
    if place < 0:
        raise TraindxError(f"{path} begins like a zip archive but has no end.", _AGAIN)
    count, length, start = struct.unpack_from("<HII", tail, place + 10)
    if count == 0xFFFF or length == _FULL or start == _FULL:
        wide = tail.rfind(_END_64, 0, place)
        if wide >= 0:
            count, length, start = struct.unpack_from("<QQQ", tail, wide + 32)
    return count, length, start
