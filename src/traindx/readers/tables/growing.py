"""Numbers in the order they come, one by one or a whole array at a time, without copying the arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Shared = dict[tuple[int, ...], tuple[list[NDArray[Any]], NDArray[Any]]]
_DTYPES = {"d": np.dtype(np.float64), "q": np.dtype(np.int64)}


class Growing:
    """`append` takes one number, `extend` an array (kept as it is: it must not change afterwards)."""

    __slots__ = ("_chunks", "_length", "_tail", "_typecode", "append")
    append: Callable[[Any], None]

    def __init__(self, typecode: Literal["d", "q"]) -> None:
        self._typecode = typecode
        self._chunks: list[NDArray[Any]] = []
        self._length = 0
        self._new_tail()

    def __len__(self) -> int:
        return self._length + len(self._tail)

    def extend(self, values: NDArray[Any]) -> None:
        self._close_tail()
        self._chunks.append(values)
        self._length += len(values)

    def array(self, shared: Shared | None = None) -> NDArray[Any]:
        """All of them, as one array that must not be written to. `shared` remembers it for others that were given the
        very same arrays."""
        self._close_tail()
        if shared is not None:
            key = tuple(map(id, self._chunks))
            if key not in shared:
                shared[key] = (self._chunks.copy(), self.array())  # what is kept, no other array can have the id of
            return shared[key][1]
        if self._chunks and all(chunk.strides == (0,) and np.isnan(chunk[0]) for chunk in self._chunks if len(chunk)):
            return np.broadcast_to(np.float64("nan"), self._length)  # a clock that no row had: one number for all
        if len(self._chunks) != 1:
            self._chunks = [np.concatenate(self._chunks) if self._chunks else np.empty(0)]
        self._chunks[0] = np.ascontiguousarray(self._chunks[0], dtype=_DTYPES[self._typecode])
        return self._chunks[0]

    def _close_tail(self) -> None:
        if self._tail:
            self._chunks.append(np.array(self._tail, dtype=_DTYPES[self._typecode]))
            self._length += len(self._tail)
            self._new_tail()

    def _new_tail(self) -> None:
        self._tail = array(self._typecode)
        self.append = self._tail.append  # bound once: it is called for every value of a text log
