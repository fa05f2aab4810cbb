"""The protobuf wire format, as far as logs need it: which field lies where. No schema, no generated code."""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types; 3 and 4 (groups) have been out of use since proto2
_F64 = struct.Struct("<d")
_F32 = struct.Struct("<f")
_MAX_VARINT = 10  # bytes: 64 bits, seven a byte


class MalformedError(ValueError):
    """The bytes are no protobuf message."""


def fields(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field of the message in data[start:stop] as (number, wire type, begin, end) of its value's bytes."""
    at = start
    while at < stop:
        key = data[at]
        at += 1
        if key > 0x7F:
            key, at = varint(data, at - 1, stop)
        wire = key & 7
        if wire == BYTES:
            size = data[at] if at < stop else 0x80
            at += 1
            if size > 0x7F:
                size, at = varint(data, at - 1, stop)
            end = at + size
        elif wire == VARINT:
            end = at + 1 if at < stop and data[at] < 0x80 else varint(data, at, stop)[1]
        elif wire == FIXED32:
            end = at + 4
        elif wire == FIXED64:
            end = at + 8
        else:
            raise MalformedError(f"wire type {wire}")
        if end > stop or key < 8:
            raise MalformedError("a field runs over the end of its message")
        yield key >> 3, wire, at, end
        at = end


def varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    """The number that begins here and the place after it."""
    value = shift = 0
    for end in range(at, min(stop, at + _MAX_VARINT)):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, end + 1
        shift += 7
    raise MalformedError("a number without an end")


def signed(value: int) -> int:
    """An int32/int64 field: negative numbers are written as 64-bit two's complement."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def double(data: bytes, at: int) -> float:
    return float(_F64.unpack_from(data, at)[0])


def single(data: bytes, at: int) -> float:
    return float(_F32.unpack_from(data, at)[0])


def text(data: bytes, begin: int, end: int) -> str:
    return data[begin:end].decode("utf-8", errors="replace")
