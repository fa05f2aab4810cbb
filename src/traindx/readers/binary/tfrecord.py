"""TFRecord framing: length, its crc, payload, its crc. Finds its way back into step after damage."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from traindx.readers.binary.crc32c import crc32c, masked_array, terms
from traindx.readers.source import read_up_to

HEADER = 12  # u64 length and u32 crc of it
OVERHEAD = HEADER + 4  # and the u32 crc behind the payload
CHUNK = 1 << 22
SLACK = 8  # zero bytes behind the data of a chunk, so that whole words can be read at its end
MAX_RECORD = 1 << 28  # a longer one is an embedded checkpoint or a hostile length, never a scalar

Places = NDArray[np.int64]
_LENGTH = struct.Struct("<Q")
_FIRST_BATCH = 64  # headers walked before they are checked; doubles while all is well
_MAX_STEPS_BACK = 1000  # how often a file may make us search inside a record we had already passed


@dataclass(frozen=True)
class Frames:
    """Some records in file order: their payloads are data[at:at + size]. The checksums of the lengths are right; those
    of the payloads are still to be compared with the u32 behind each."""

    data: bytes
    at: Places
    size: Places


def numbers_at(data: bytes, places: Places, dtype: str) -> NDArray[Any]:
    """The numbers that begin at these byte places, aligned or not."""
    return _every(data, dtype)[places]


def _every(data: bytes, dtype: str) -> NDArray[Any]:
    """Element i is the number that begins at byte i."""
    count = max(len(data) - np.dtype(dtype).itemsize + 1, 0)
    return np.ndarray(shape=(count,), dtype=dtype, buffer=data, strides=(1,))


class RecordStream:
    """Reads a record file in chunks of bounded size; afterwards says what it could not read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.done = 0  # bytes taken in
        self.gaps = 0  # places where the framing was lost
        self.gap_bytes = 0
        self.cut_bytes = 0  # of the record in which the file ends
        self.oversized = 0
        self.unpacking_failed = False  # the gzip around it is damaged from here on
        self._steps_back = 0

    def __iter__(self) -> Iterator[Frames]:
        rest = b""
        want = CHUNK
        hunting = False
        while True:
            block = self._read(want)
            data = rest + block
            starts, at, hunting = self._take(data, hunting)
            if len(starts):
                size = numbers_at(data, starts, "<u8").astype(np.int64)
                yield Frames(data + bytes(SLACK), starts + HEADER, size)
            rest = data[at:]
            del data
            if not block:
                self.cut_bytes += 0 if hunting else len(rest)
                self.gap_bytes += len(rest) if hunting else 0
                return
            want = CHUNK
            if not hunting and len(rest) >= HEADER:
                missing = _LENGTH.unpack_from(rest)[0] + OVERHEAD - len(rest)
                if missing > MAX_RECORD:
                    rest = self._pass_over(missing)
                else:
                    want = max(CHUNK, missing)

    def _read(self, count: int) -> bytes:
        block, failed = read_up_to(self._stream, count)
        self.unpacking_failed |= failed
        self.done += len(block)
        return block

    def _pass_over(self, count: int) -> bytes:
        self.oversized += 1
        while count > 0 and (block := self._read(min(count, CHUNK))):
            count -= len(block)
        return b""

    def _take(self, data: bytes, hunting: bool) -> tuple[Places, int, bool]:
        """The places of the whole records in this chunk, where the rest begins, and whether step is lost there."""
        pieces: list[Places] = [np.empty(0, dtype=np.int64)]
        headers: Places | None = None  # all right headers of the chunk; looked for once, and only after damage
        at = search = 0
        while True:
            if hunting:
                headers = _right_headers(data) if headers is None else headers
                following = int(np.searchsorted(headers, search))
                found = int(headers[following]) if following < len(headers) else max(at, len(data) - HEADER + 1)
                self.gap_bytes += max(found - at, 0)
                at = found
                if following == len(headers):
                    return np.concatenate(pieces), at, True
            starts, at, hunting = _frame(data, at)
            pieces.append(starts)
            if not hunting:
                return np.concatenate(pieces), at, False
            self.gaps += 1
            search = at + 1
            if len(starts) and self._steps_back < _MAX_STEPS_BACK:
                # a record that lost or gained bytes still has its right length, and hides the true next header in it
                self._steps_back += 1
                search = int(starts[-1]) + 1


def _frame(data: bytes, at: int) -> tuple[Places, int, bool]:
    """The whole records from `at` on, one behind the other; where the next one begins, and whether its header is
    wrong. Headers are checked in growing batches, so that a walk through garbage stays short."""
    unpack = _LENGTH.unpack_from
    last = len(data) - HEADER
    pieces: list[Places] = [np.empty(0, dtype=np.int64)]
    batch = _FIRST_BATCH
    while at <= last:
        begins: list[int] = []
        append = begins.append
        for _ in repeat(None, batch):
            if at > last:
                break
            append(at)
            at += unpack(data, at)[0] + OVERHEAD
        starts = np.array(begins, dtype=np.int64)
        wrong = np.flatnonzero(~_headers_right(data, starts))
        if len(wrong):
            first = int(wrong[0])
            return np.concatenate([*pieces, starts[:first]]), begins[first], True
        if at > len(data):
            return np.concatenate([*pieces, starts[:-1]]), begins[-1], False
        pieces.append(starts)
        batch *= 2
    return np.concatenate(pieces), at, False


_ZERO_LENGTH_CRC = np.uint32(crc32c(bytes(8)))


def _headers_right(data: bytes, starts: Places) -> NDArray[np.bool_]:
    """Whether each of these places holds a length and the right checksum of it."""
    length = numbers_at(data, starts, "<u8")
    table = terms(7)
    crc = table[7][length & 0xFF] ^ _ZERO_LENGTH_CRC
    for byte in range(1, 4):
        crc ^= table[7 - byte][length >> np.uint64(8 * byte) & np.uint64(0xFF)]
    right: NDArray[np.bool_] = (masked_array(crc) == numbers_at(data, starts + 8, "<u4")) & (
        length >> np.uint64(32) == 0
    )
    return right


def _right_headers(data: bytes) -> Places:
    """Every place in the chunk where a right header stands."""
    lengths = _every(data, "<u8")[: max(len(data) - HEADER + 1, 0)]
    candidates = np.flatnonzero(lengths < MAX_RECORD).astype(np.int64)
    return candidates[_headers_right(data, candidates)]
