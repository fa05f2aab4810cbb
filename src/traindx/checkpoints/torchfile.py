"""Files of torch.save, as a tree of plain containers with tensors that stay on disk: the zip format, and the one before
it."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import Any

from traindx.checkpoints.allowed import Object, Storage, Stored
from traindx.checkpoints.archive import STORED, Entry, entries
from traindx.checkpoints.pickled import MOST_BYTES, describe
from traindx.checkpoints.tensor import SIZES, Tensor
from traindx.errors import TraindxError

ZIP = b"PK\x03\x04"
_LEGACY_HEAD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
DEEPEST = 60
_AGAIN = "It is damaged or cut off; copy or download it again."


def is_legacy(head: bytes) -> bool:
    return head.startswith(_LEGACY_HEAD)


def is_pickle(head: bytes) -> bool:
    """Protocol 2 and later say so in their first two bytes."""
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def read_zip(path: Path, begin: int = 0, length: int | None = None) -> Any:
    """What a file of torch.save describes."""
    found = entries(path, begin, length)
    inside = {name.partition("/")[2]: entry for name, entry in found.items()}
    if "constants.pkl" in inside:
        raise TraindxError(
            f"{path} is a TorchScript archive, which holds code.", "Save model.state_dict() with torch.save instead."
        )
    main = inside.get("data.pkl")
    if main is None:
        raise TraindxError(
            f"{path} is a zip archive without data.pkl: no checkpoint of torch.",
            "Give a .pt, .ckpt or .safetensors file.",
        )
    if main.method != STORED or main.size > MOST_BYTES:
        raise TraindxError(
            f"{path} has a data.pkl of {main.size} bytes that is packed or too large.",
            "torch does not write such files.",
        )
    order = inside.get("byteorder")
    if order is not None and _bytes(path, order, 8) != b"little":
        raise TraindxError(f"{path} was saved on a big-endian machine.", "Load and save it on an ordinary one first.")
    tree = describe(BytesIO(_bytes(path, main, main.size)), str(path))
    return _placed(
        path, tree, {key[5:]: (entry.offset, entry.size) for key, entry in inside.items() if key.startswith("data/")}
    )


def read_legacy(path: Path) -> Any:
    """The format before torch 1.6: what was saved is the fourth of five pickles, the last lists the storages that
    follow."""
    with path.open("rb") as file:
        for _ in range(3):
            describe(file, str(path), 1 << 16)
        tree = describe(file, str(path))
        keys = describe(file, str(path))
        if not isinstance(keys, list):
            raise TraindxError(f"{path} has no list of storages.", _AGAIN)
        sizes = _storage_bytes(tree)
        places: dict[str, tuple[int, int]] = {}
        end = path.stat().st_size
        for key in keys:
            size = sizes.get(key) if isinstance(key, str) else None
            place = file.tell() + 8  # its length, which the pickle has given already, stands before it
            if size is None or place + size > end:
                raise TraindxError(f"{path} is cut off within its storages.", _AGAIN)
            places[key] = (place, size)
            file.seek(place + size)
    return _placed(path, tree, places)


def read_pickle(path: Path) -> Any:
    """A plain pickle: it may hold numbers and settings, but tensors of torch need torch.save."""
    with path.open("rb") as file:
        return _placed(path, describe(file, str(path)), {})


def _bytes(path: Path, entry: Entry, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(entry.offset)
        return file.read(min(entry.size, most))


def _storage_bytes(tree: Any) -> dict[str, int]:
    """How many bytes each storage has, by its key."""
    found: dict[str, int] = {}

    def note(stored: Stored, _: str) -> None:
        if stored.storage is not None:
            found[stored.storage.key] = stored.storage.count * SIZES.get(stored.storage.dtype, 1)

    _walk(tree, note)
    return found


def _placed(path: Path, tree: Any, places: dict[str, tuple[int, int]]) -> Any:
    """The tree with every stored tensor turned into one that knows its place in the file."""
    done: dict[int, Tensor | None] = {}

    def place(stored: Stored, name: str) -> Tensor | None:
        if id(stored) not in done:
            done[id(stored)] = _tensor(path, stored, name, places)
        return done[id(stored)]

    return _walk(tree, place)


def _tensor(path: Path, stored: Stored, name: str, places: dict[str, tuple[int, int]]) -> Tensor | None:
    storage = stored.storage
    if storage is None or not stored.dtype:
        return None
    if storage.key not in places:
        raise TraindxError(f"{path}: the numbers of {name[:200]!r} are missing.", _AGAIN)
    begin, held = places[storage.key]
    _check(path, stored, storage, name, held)
    # an expanded dimension repeats the same numbers: they are counted once
    shape = tuple(1 if stride == 0 else size for size, stride in zip(stored.shape, stored.strides, strict=True))
    strides = None if stored.strides == _in_order(stored.shape) or math.prod(shape) <= 1 else stored.strides
    if strides is not None and _same_order(shape, strides):
        strides = None
    offset = stored.offset * SIZES[stored.dtype]
    return Tensor(name, stored.dtype, shape, path, begin + offset, strides, (storage.key, offset), stored.requires_grad)


def _check(path: Path, stored: Stored, storage: Storage, name: str, held: int) -> None:
    """The tensor lies inside of its storage, and the storage is in the file."""
    width = SIZES[stored.dtype]
    claimed = storage.count * SIZES.get(storage.dtype, 1)
    pairs = [(size, stride) for size, stride in zip(stored.shape, stored.strides, strict=True) if stride]
    empty = 0 in stored.shape
    reach = 0 if empty else stored.offset + 1 + sum((size - 1) * stride for size, stride in pairs)
    count = 0 if empty else math.prod(size for size, _ in pairs)
    if claimed > held or reach * width > held or count * width > held:
        raise TraindxError(
            f"{path}: {name[:200]!r} describes {max(count, reach) * width} bytes, but its storage has {held}.", _AGAIN
        )


def _in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[place + 1 :]) for place in range(len(shape)))


def _same_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements lie in order although the strides are written differently (dimensions of size one)."""
    wanted = _in_order(shape)
    return all(size == 1 or stride == want for size, stride, want in zip(shape, strides, wanted, strict=True))


def _walk(tree: Any, use: Any, name: str = "", depth: int = 0, seen: dict[int, Any] | None = None) -> Any:
    """The same tree with `use` of every tensor. Each container is visited once, however often it is referred to; what
    lies too deep for any real checkpoint is refused."""
    seen = {} if seen is None else seen
    if isinstance(tree, Stored):
        return use(tree, name)
    if not isinstance(tree, dict | list | tuple | Object):
        return tree
    if id(tree) in seen:
        return seen[id(tree)]
    if depth > DEEPEST:
        raise TraindxError(
            f"The checkpoint is nested more than {DEEPEST} levels deep at {name[:200]!r}.", "No trainer writes that."
        )
    if isinstance(tree, Object):
        seen[id(tree)] = tree
        tree.state = _walk(tree.state, use, name, depth + 1, seen)
        return tree
    if isinstance(tree, dict):
        new: dict[Any, Any] = {}
        seen[id(tree)] = new
        for key, value in tree.items():
            new[key] = _walk(value, use, f"{name}.{key}" if name else str(key), depth + 1, seen)
        return new
    items: list[Any] = []
    seen[id(tree)] = items
    for place, value in enumerate(tree):
        items.append(_walk(value, use, f"{name}.{place}" if name else str(place), depth + 1, seen))
    if isinstance(tree, tuple):
        seen[id(tree)] = tuple(items)
    return seen[id(tree)]
