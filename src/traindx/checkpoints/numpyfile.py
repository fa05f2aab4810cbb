"""numpy's .npz and .npy: arrays by name. Object arrays, which are pickles, stay closed."""

from __future__ import annotations

import ast
import struct
import zlib
from pathlib import Path

from traindx.checkpoints.archive import DEFLATED, Entry, entries
from traindx.checkpoints.tensor import MOST_DIMENSIONS, Tensor
from traindx.errors import TraindxError

MAGIC = b"\x93NUMPY"
MOST_HEADER = 1 << 16
_KINDS = {
    "<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8", "<u8": "U64",
    "<u4": "U32",
    "<u2": "U16", "|u1": "U8", "|b1": "BOOL", "<c8": "C64", "<c16": "C128",
}  # fmt: skip
_AGAIN = "It is damaged or cut off; copy or download it again."


def is_npz(path: Path) -> bool:
    """Whether an archive holds arrays of numpy and nothing else."""
    found = entries(path)
    return bool(found) and all(name.endswith(".npy") for name in found)


def read(path: Path) -> tuple[list[Tensor], list[str]]:
    """The arrays, and what could not be read."""
    with path.open("rb") as file:
        single = file.read(6) == MAGIC
    if single:
        whole = Entry(path.stem, 0, path.stat().st_size, path.stat().st_size, 0)
        listed = [(path.stem, whole)]
    else:
        listed = [(name.removesuffix(".npy"), entry) for name, entry in entries(path).items()]
    tensors: list[Tensor] = []
    closed: list[str] = []
    for name, entry in listed:
        tensor = _array(path, name, entry)
        if tensor is None:
            closed.append(name)
        else:
            tensors.append(tensor)
    return tensors, closed


def _array(path: Path, name: str, entry: Entry) -> Tensor | None:
    head = _head(path, entry)
    if head[:6] != MAGIC or len(head) < 12:
        raise TraindxError(f"{path}: {name[:200]!r} is no array of numpy.", _AGAIN)
    wide = head[6] >= 2
    (length,) = struct.unpack_from("<I" if wide else "<H", head, 8)
    begin = 12 if wide else 10
    if length > MOST_HEADER or begin + length > len(head):
        raise TraindxError(f"{path}: {name[:200]!r} has a header of {length} bytes.", _AGAIN)
    try:
        stated = ast.literal_eval(head[begin : begin + length].decode("latin1").strip())
        kind, fortran, shape = stated["descr"], stated["fortran_order"], tuple(stated["shape"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError) as error:
        raise TraindxError(f"{path}: {name[:200]!r} has a header that cannot be read.", _AGAIN) from error
    if any(not isinstance(size, int) or size < 0 for size in shape) or len(shape) > MOST_DIMENSIONS:
        raise TraindxError(f"{path}: {name[:200]!r} has an impossible shape.", _AGAIN)
    if not isinstance(kind, str) or kind not in _KINDS:
        return None
    # column order: the same numbers, transposed; statistics do not care, and rows are units either way
    tensor = Tensor(name, _KINDS[kind], shape[::-1] if fortran else shape, path, entry.offset + begin + length)
    if begin + length + tensor.bytes > entry.size:
        raise TraindxError(
            f"{path}: {name[:200]!r} needs {tensor.bytes} bytes, but its entry has {entry.size}.", _AGAIN
        )
    if entry.method == DEFLATED:
        return Tensor(name, tensor.dtype, tensor.shape, path, entry.offset, packed=entry.packed, skip=begin + length)
    return tensor


def _head(path: Path, entry: Entry) -> bytes:
    with path.open("rb") as file:
        file.seek(entry.offset)
        data = file.read(min(entry.packed, 12 + MOST_HEADER))
    if entry.method != DEFLATED:
        return data
    try:
        return zlib.decompressobj(-15).decompress(data, 12 + MOST_HEADER)
    except zlib.error as error:
        raise TraindxError(f"{path}: {entry.name[:200]!r} is damaged ({error}).", _AGAIN) from error
