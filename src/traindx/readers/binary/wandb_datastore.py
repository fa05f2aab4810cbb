"""The framing of W&B's .wandb files: LevelDB's log format with a plain crc32 and a header of its own.

A file is a row of 32 KiB blocks. A block holds chunks of (crc, length, kind, data); a record is one chunk or, where it
does not fit, a first, some middle and a last one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from traindx.readers.source import read_up_to

MAGIC = b":W&B"
FILE_HEADER = 7  # magic, u16 0xBEE1, u8 version
_BLOCK = 1 << 15
_DAMAGED, _FULL, _FIRST, _MIDDLE, _LAST = 0, 1, 2, 3, 4  # the first is no kind of the format
_CHUNK_HEADER = struct.Struct("<IHB")
_SEARCH_BUDGET = 1 << 22  # bytes summed while searching one block for the next whole chunk


class Datastore:
    """The records of a .wandb file, in order; afterwards says what could not be read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.done = 0
        self.damaged = 0  # places where a chunk was wrong
        self.cut = False  # the file ends inside a record
        self.unpacking_failed = False

    def __iter__(self) -> Iterator[bytes]:
        pending: list[bytes] | None = None  # the chunks of a record that goes on in the next block
        for kind, data in self._chunks():
            if kind == _FULL:
                pending = None
                yield data
            elif kind == _FIRST:
                pending = [data]
            elif kind == _DAMAGED:
                pending = None
            elif pending is not None:
                pending.append(data)
                if kind == _LAST:
                    yield b"".join(pending)
                    pending = None
        self.cut |= pending is not None

    def _chunks(self) -> Iterator[tuple[int, bytes]]:
        """Kind and data of each chunk; where one is wrong, its kind says so and the next whole one follows."""
        while True:
            block, failed = read_up_to(self._stream, _BLOCK)
            self.unpacking_failed |= failed
            if not block:
                return
            at = FILE_HEADER if not self.done else 0
            self.done += len(block)
            while at + _CHUNK_HEADER.size <= len(block):
                kind, end = right_chunk(block, at)
                if kind:
                    yield kind, block[at + _CHUNK_HEADER.size : end]
                    at = end
                    continue
                if not any(block[at:]):  # the rest of a block, or of a file set aside in advance, is zeros
                    break
                if len(block) < _BLOCK and _runs_over(block, at):
                    self.cut = True
                    break
                self.damaged += 1
                yield _DAMAGED, b""
                at = _next_right(block, at + 1)
            else:
                self.cut |= len(block) < _BLOCK and any(block[at:])


def right_chunk(block: bytes, at: int) -> tuple[int, int]:
    """The kind of the chunk that stands here and where it ends; kind 0 when there is none, or its checksum is wrong."""
    if at + _CHUNK_HEADER.size > len(block):
        return 0, at
    crc, length, kind = _CHUNK_HEADER.unpack_from(block, at)
    end = at + _CHUNK_HEADER.size + length
    if not _FULL <= kind <= _LAST or end > len(block):
        return 0, at
    # the sum runs over the kind and the data, which lie behind each other
    return (kind, end) if zlib.crc32(block[at + 6 : end]) == crc else (0, at)


def _runs_over(block: bytes, at: int) -> bool:
    """Whether a chunk begins here that the end of the file has cut off."""
    _, length, kind = _CHUNK_HEADER.unpack_from(block, at)
    return bool(_FULL <= kind <= _LAST) and at + _CHUNK_HEADER.size + int(length) > len(block)


def _next_right(block: bytes, begin: int) -> int:
    """Where the next whole chunk of this block begins; its end when there is none."""
    budget = _SEARCH_BUDGET
    for at in range(begin, len(block) - _CHUNK_HEADER.size + 1):
        if _FULL <= block[at + 6] <= _LAST:
            budget -= block[at + 4] | block[at + 5] << 8
            if right_chunk(block, at)[0]:
                return at
            if budget < 0:
                break
    return len(block)
