"""A picture of small numbers as PNG, with a palette: what a heat map is, in a few kilobytes and without a library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PALETTE_TYPE = 3  # PNG specification, 11.2.2: each pixel is a place in the palette
_PLAIN_TYPES = {1: 0, 3: 2}  # and by the number of channels: shades of grey, red green blue


def data_uri(pixels: NDArray[np.uint8], palette: NDArray[np.uint8]) -> str:
    """`pixels` are places in the `palette`, whose rows are red, green, blue and opacity."""
    return _written(pixels, _PALETTE_TYPE, [(b"PLTE", palette[:, :3].tobytes()), (b"tRNS", palette[:, 3].tobytes())])


def picture_uri(pixels: NDArray[np.uint8]) -> str:
    """`pixels` are rows, columns and one or three channels."""
    height, width, channels = pixels.shape
    return _written(pixels.reshape(height, width * channels), _PLAIN_TYPES[channels], [], width)


def _written(rows: NDArray[np.uint8], kind: int, between: list[tuple[bytes, bytes]], width: int | None = None) -> str:
    height, across = rows.shape
    filtered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)  # each row begins with its filter: none
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", across if width is None else width, height, 8, kind, 0, 0, 0)),
        *between,
        (b"IDAT", zlib.compress(filtered.tobytes(), 6)),
        (b"IEND", b""),
    ]
    whole = _SIGNATURE + b"".join(_chunk(name, data) for name, data in parts)
    return "data:image/png;base64," + base64.b64encode(whole).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
