"""CRC-32C (Castagnoli) in numpy, as TensorFlow's record files use it.

The checksum is linear: each byte adds a term that depends only on its value and on how many bytes follow it. So records
that differ in a few bytes need only those bytes looked up, and many records are checked at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78  # RFC 3720, appendix B.4, bits reversed
_MASK_DELTA = 0xA282EAD8  # TensorFlow's tensorflow/core/lib/hash/crc32c.h: a stored crc is rotated and shifted by this
_ROW = 256  # bytes a row when long data is cut up to be summed side by side
_ROWS_AT_ONCE = 4096  # a megabyte, which stays in the cache
_FULL = 0xFFFFFFFF


def _byte_table() -> Words:
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = (crc >> np.uint32(1)) ^ np.where(crc & np.uint32(1), np.uint32(_POLYNOMIAL), np.uint32(0))
    return crc


_STEP = _byte_table()
_STEP_LIST: list[int] = _STEP.tolist()
_terms: Words = _STEP.reshape(1, 256)


def terms(following: int) -> Words:
    """Table [k, byte]: what a byte adds to the checksum when k bytes follow it, for k up to `following` at least."""
    global _terms
    if len(_terms) <= following:
        rows = [*_terms]
        while len(rows) <= following:
            rows.append(_STEP[rows[-1] & np.uint32(0xFF)] ^ (rows[-1] >> np.uint32(8)))
        _terms = np.array(rows)
    return _terms


def crc32c(data: bytes) -> int:
    """The checksum of one short piece."""
    crc = _FULL
    for byte in data:
        crc = _STEP_LIST[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _FULL


def crc32c_many(pieces: Sequence[bytes]) -> list[int]:
    """The checksums of many pieces of any length: all are cut into rows that are summed side by side."""
    short = {index: crc32c(piece) for index, piece in enumerate(pieces) if len(piece) < 4}
    counts = [0 if index in short else -(-len(piece) // _ROW) for index, piece in enumerate(pieces)]
    flat = np.zeros(sum(counts) * _ROW, dtype=np.uint8)
    at = 0
    for piece, count in zip(pieces, counts, strict=True):
        if count:
            at += count * _ROW
            begin = at - len(piece)  # zeros in front of the data do not change a sum that starts from zero
            flat[begin:at] = np.frombuffer(piece, dtype=np.uint8)
            flat[begin : begin + 4] ^= np.uint8(0xFF)  # the same as starting the sum from all ones
    rows = _row_sums(flat.reshape(-1, _ROW)).tolist()
    shift = [terms(_ROW)[_ROW - 1 - byte].tolist() for byte in range(4)]
    sums: list[int] = []
    at = 0
    for index, count in enumerate(counts):
        if index in short:
            sums.append(short[index])
            continue
        crc = 0
        for row in rows[at : at + count]:
            low, high = crc & 0xFFFF, crc >> 16
            crc = row ^ shift[0][low & 0xFF] ^ shift[1][low >> 8] ^ shift[2][high & 0xFF] ^ shift[3][high >> 8]
        at += count
        sums.append(crc ^ _FULL)
    return sums


def _row_sums(rows: NDArray[np.uint8]) -> Words:
    """The raw sum (from zero, not inverted) of each row, two bytes at a time."""
    table = terms(1)
    pair = (table[0][:, None] ^ table[1][None, :]).ravel()  # index: first byte low, second byte high
    sums = np.zeros(len(rows), dtype=np.uint32)
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        crc = sums[begin : begin + _ROWS_AT_ONCE]
        for column in np.ascontiguousarray(rows[begin : begin + _ROWS_AT_ONCE].view("<u2").T):
            crc[:] = pair[(crc ^ column) & np.uint32(0xFFFF)] ^ (crc >> np.uint32(16))
    return sums


def masked(crc: int) -> int:
    """The form in which a record stores its checksum."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & _FULL


def masked_array(crc: Words) -> Words:
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(_MASK_DELTA)
