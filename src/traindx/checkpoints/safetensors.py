"""The safetensors format: eight bytes of header length, a JSON header, then the numbers. Everything is checked before
use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from traindx.checkpoints.tensor import MOST_DIMENSIONS, SIZES, Tensor
from traindx.errors import TraindxError

MOST_HEADER = 100_000_000  # bytes; what the format's own library allows
_AGAIN = "It is damaged or no safetensors file; copy or download it again."


class _Entry(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


def looks_like(head: bytes) -> bool:
    """Whether a file begins like safetensors: a plausible header length, then an opening brace."""
    return len(head) >= 9 and head[8:9] == b"{" and int.from_bytes(head[:8], "little") >= 2


def read(path: Path) -> tuple[list[Tensor], dict[str, str], list[str]]:
    """The tensors of one file, its metadata, and what it holds in dtypes that cannot be read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > min(size - 8, MOST_HEADER):
            raise TraindxError(
                f"{path} says that its header has {length} bytes, but the file has {size}"
                f"{'' if length > size - 8 else f' and headers end at {MOST_HEADER}'}.", _AGAIN,
            )  # fmt: skip
        header = file.read(length)
    try:
        entries: dict[str, Any] = msgspec.json.decode(header, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise TraindxError(f"{path} has a header that is no JSON ({str(error)[:100]}).", _AGAIN) from error
    stated = entries.pop("__metadata__", {})
    metadata = {str(key): str(value) for key, value in stated.items()} if isinstance(stated, dict) else {}
    return _tensors(path, entries, 8 + length, size), metadata, _unreadable(entries)


def _tensors(path: Path, entries: dict[str, Any], begin: int, size: int) -> list[Tensor]:
    found: list[tuple[int, int, Tensor | None]] = []
    for name, stated in entries.items():
        try:
            entry = msgspec.convert(stated, _Entry)
        except msgspec.ValidationError as error:
            raise TraindxError(f"{path}: {name[:200]!r} is described wrongly ({error}).", _AGAIN) from error
        low, high = entry.data_offsets
        if min(entry.shape, default=0) < 0 or len(entry.shape) > MOST_DIMENSIONS or not 0 <= low <= high:
            raise TraindxError(f"{path}: {name[:200]!r} has an impossible shape or place.", _AGAIN)
        if begin + high > size:
            raise TraindxError(
                f"{path}: {name[:200]!r} ends at byte {begin + high}, but the file has {size}.",
                "The file is cut off; copy or download it again.",
            )
        tensor = None
        if entry.dtype in SIZES:
            tensor = Tensor(name, entry.dtype, tuple(entry.shape), path, begin + low)
            if tensor.bytes != high - low:
                shape = "×".join(map(str, entry.shape)) or "scalar"
                raise TraindxError(
                    f"{path}: {name[:200]!r} ({entry.dtype}, {shape}) needs {tensor.bytes} bytes but is given "
                    f"{high - low}.", _AGAIN
                )  # fmt: skip
        found.append((low, high, tensor))
    end = 0
    for low, high, _ in sorted(found, key=lambda place: place[:2]):
        if low != end:
            raise TraindxError(
                f"{path}: its tensors {'overlap' if low < end else 'leave a hole'} at byte {begin + low}.", _AGAIN
            )
        end = high
    return [tensor for _, _, tensor in found if tensor is not None]


def _unreadable(entries: dict[str, Any]) -> list[str]:
    return sorted({str(stated.get("dtype"))[:40] for stated in entries.values() if stated.get("dtype") not in SIZES})
