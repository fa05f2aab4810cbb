"""Tensors that stay on disk: what they are called, how they are stored, and their numbers block by block."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from traindx.errors import TraindxError

BLOCK = 1 << 18  # elements read at a time: with their float64 copies they stay in the processor's cache
STRIDED = 1 << 26  # elements of a tensor that must be held whole because its rows are interleaved in the file
MOST_DIMENSIONS = 32

# name → bytes an element; the names of the safetensors format
SIZES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1,
    "F8_E8M0": 1,
    "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1, "C64": 8, "C128": 16,
}  # fmt: skip
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2", "U8": "u1", "BOOL": "u1", "C64": "<c8", "C128": "<c16",
}  # fmt: skip
FLOATS = frozenset(name for name in SIZES if name[0] in "FB" and name != "BOOL")
HALF = {"F16": 11, "BF16": 8}  # bits of precision of what weights are kept in to save memory
HIGHEST = {"F16": 65504.0, "F8_E4M3": 448.0, "F8_E5M2": 57344.0}
# bits of exponent and fraction, bias, and whether infinities exist (OCP 8-bit floating point specification, and the
# variants without negative zero that AMD and Graphcore use)
_EIGHT_BITS = {
    "F8_E4M3": (4, 3, 7, "fn"), "F8_E5M2": (5, 2, 15, "ieee"), "F8_E4M3FNUZ": (4, 3, 8, "fnuz"),
    "F8_E5M2FNUZ": (5, 2, 16, "fnuz"),
}  # fmt: skip
Block = NDArray[np.float32] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor in a file: `offset` is where its first element lies. `strides` (in elements) is None where the
    elements lie in order. `storage` names the memory it was saved from: tensors that share it were one tensor. A packed
    tensor lies in a deflate stream of `packed` bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    path: Path
    offset: int
    strides: tuple[int, ...] | None = None
    storage: tuple[str, int] | None = None
    requires_grad: bool | None = None
    packed: int | None = None
    skip: int = 0  # bytes of the unpacked stream before the first element

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * SIZES[self.dtype]

    @property
    def floating(self) -> bool:
        return self.dtype in FLOATS

    @property
    def rows(self) -> int:
        """Units of a weight: the first dimension of anything with two."""
        return self.shape[0] if len(self.shape) >= 2 else 0

    @property
    def row_size(self) -> int:
        return math.prod(self.shape[1:])

    def named(self, name: str) -> Tensor:
        return replace(self, name=name)


def blocks(tensor: Tensor, by_row: bool = False) -> Iterator[Block]:
    """The numbers in pieces of about BLOCK elements, in order, as float32 or float64; with `by_row` as whole rows,
    where a row is not longer than a block."""
    width = tensor.row_size if by_row and 0 < tensor.row_size <= BLOCK else 1
    count = max(1, BLOCK // width) * width
    for raw in _pieces(tensor, count):
        values = widened(raw, tensor.dtype)
        yield values.reshape(-1, width) if width > 1 or by_row else values


def raw_blocks(tensor: Tensor) -> Iterator[NDArray[Any]]:
    """The stored numbers unchanged, to be compared bit by bit."""
    return _pieces(tensor, BLOCK)


def scalar(tensor: Tensor) -> float | None:
    """The value of a tensor of one element."""
    if tensor.size != 1:
        return None
    return float(next(blocks(tensor))[0])


def _pieces(tensor: Tensor, count: int) -> Iterator[NDArray[Any]]:
    kind = np.dtype(_DTYPES.get(tensor.dtype, "<u2" if SIZES[tensor.dtype] == 2 else "u1"))
    if tensor.size == 0:
        return
    with tensor.path.open("rb") as file:
        if tensor.strides is not None:
            whole = _strided(tensor, file, kind)
            yield from (whole[start : start + count] for start in range(0, len(whole), count))
        elif tensor.packed is not None:
            yield from _unpacked(tensor, file, kind, count)
        else:
            file.seek(tensor.offset)
            for start in range(0, tensor.size, count):
                yield _array(
                    tensor,
                    file.read(min(count, tensor.size - start) * kind.itemsize),
                    kind,
                    min(count, tensor.size - start),
                )


def _array(tensor: Tensor, data: bytes, kind: np.dtype[Any], expected: int) -> NDArray[Any]:
    if len(data) < expected * kind.itemsize:
        raise TraindxError(
            f"{tensor.path} ends within {tensor.name}.", "The file is cut off; copy or download it again."
        )
    return np.frombuffer(data, kind, expected)


def _strided(tensor: Tensor, file: BinaryIO, kind: np.dtype[Any]) -> NDArray[Any]:
    """A transposed or expanded tensor, gathered into order. The elements were checked to lie inside of the storage."""
    assert tensor.strides is not None
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)) + 1
    if max(reach, tensor.size) > STRIDED:
        raise TraindxError(
            f"{tensor.path}: {tensor.name} has {tensor.size} interleaved elements, more than can be put in order here.",
            "Save it contiguous: {name: tensor.contiguous() for name, tensor in state_dict.items()}.",
        )
    file.seek(tensor.offset)
    flat = _array(tensor, file.read(reach * kind.itemsize), kind, reach)
    steps = tuple(stride * kind.itemsize for stride in tensor.strides)
    return np.lib.stride_tricks.as_strided(flat, tensor.shape, steps, writeable=False).reshape(-1)


def _unpacked(tensor: Tensor, file: BinaryIO, kind: np.dtype[Any], count: int) -> Iterator[NDArray[Any]]:
    """A compressed entry, unpacked piece by piece and never further than the tensor reaches."""
    assert tensor.packed is not None
    machine = zlib.decompressobj(-15)
    file.seek(tensor.offset)
    left, skip, missing = tensor.packed, tensor.skip, tensor.size * kind.itemsize
    held = bytearray()
    try:
        while missing > 0:
            data = machine.unconsumed_tail or file.read(min(left, 1 << 16))
            left -= 0 if machine.unconsumed_tail else len(data)
            piece = machine.decompress(data, 1 << 20)
            if not piece and not data:
                break
            held += piece
            if skip:
                cut = min(skip, len(held))
                del held[:cut]
                skip -= cut
            while missing > 0 and len(held) >= min(missing, count * kind.itemsize):
                wanted = min(missing, count * kind.itemsize)
                yield np.frombuffer(bytes(held[:wanted]), kind)
                del held[:wanted]
                missing -= wanted
    except zlib.error as error:
        raise TraindxError(
            f"{tensor.path}: {tensor.name} is damaged ({error}).", "Copy or download it again."
        ) from error
    if missing > 0:
        raise TraindxError(
            f"{tensor.path} ends within {tensor.name}.", "The file is cut off; copy or download it again."
        )


def widened(raw: NDArray[Any], dtype: str) -> Block:
    """Stored numbers as floats that hold them exactly: float64 for what float32 cannot hold."""
    if dtype == "F32":
        return raw.astype(np.float32, copy=False)
    if dtype == "BF16":
        return np.left_shift(raw.astype(np.uint32), np.uint32(16)).view(np.float32)
    if dtype in _EIGHT_BITS or dtype == "F8_E8M0":
        small: NDArray[np.float32] = eight_bit_values(dtype)[raw]
        return small
    if dtype in ("C64", "C128"):
        return np.asarray(np.abs(raw), np.float64)
    if dtype in ("F16", "I8", "U8", "I16", "U16", "BOOL"):
        return raw.astype(np.float32)
    return raw.astype(np.float64)


@cache
def eight_bit_values(dtype: str) -> NDArray[np.float32]:
    """What each of the 256 codes of an 8-bit float means."""
    codes = np.arange(256)
    if dtype == "F8_E8M0":
        powers = np.exp2(codes - 127.0)
        return np.where(codes == 255, np.nan, powers).astype(np.float32)
    exponent_bits, fraction_bits, bias, style = _EIGHT_BITS[dtype]
    sign = np.where(codes >= 128, -1.0, 1.0)
    exponent = (codes >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = (codes & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    values = sign * np.where(
        exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * np.exp2(exponent - float(bias))
    )
    top = exponent == (1 << exponent_bits) - 1
    if style == "ieee":
        values = np.where(top, np.where(fraction == 0, sign * np.inf, np.nan), values)
    elif style == "fn":
        values = np.where((codes & 127) == 127, np.nan, values)
    else:
        values = np.where(codes == 128, np.nan, values)
    return values.astype(np.float32)
