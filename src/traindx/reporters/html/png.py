"""A picture of small numbers as PNG, with a palette: what a heat map is, in a few kilobytes and without a library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PALETTE_TYPE = 3  # PNG specification, 11.2.2: each pixel is a place in the palette


def data_uri(pixels: NDArray[np.uint8], palette: NDArray[np.uint8]) -> str:
    """`pixels` are places in the `palette`, whose rows are red, green, blue and opacity."""
    height, width = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)  # each row begins with its filter: none
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _PALETTE_TYPE, 0, 0, 0)),
        (b"PLTE", palette[:, :3].tobytes()),
        (b"tRNS", palette[:, 3].tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 6)),
        (b"IEND", b""),
    ]
    whole = _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)
    return "data:image/png;base64," + base64.b64encode(whole).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
