"""Keeping a batch that went wrong: its tensors, and which samples of the data set they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from traindx.live.events.hub import Hub
from traindx.live.events.places import user_frame, variables
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import entries

MOST_BYTES = 50 << 20  # of one batch
MOST_INDICES = 1 << 16
MOST_NAMES = 16


class Drawn:
    """The indices that a loader's sampler drew for the batch handed out last. They are noted when they are drawn, which
    workers do ahead of time, and belong to the batches in the order they are handed out."""

    def __init__(self) -> None:
        self.last: Sequence[int] | None = None
        self._ahead: WeakKeyDictionary[Any, deque[Any]] = WeakKeyDictionary()

    def attach(self, hub: Hub) -> None:
        hub.patch(_BaseDataLoaderIter, "_next_index", self._around_index)
        hub.patch(_BaseDataLoaderIter, "_reset", self._around_reset)
        hub.patch(_BaseDataLoaderIter, "__next__", self._around_next)

    def _around_index(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _next_index(iterator: Any) -> Any:
            index = original(iterator)
            self._ahead.setdefault(iterator, deque(maxlen=1024)).append(index)
            return index

        return _next_index

    def _around_reset(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _reset(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            self._ahead.pop(iterator, None)  # what was drawn ahead and never handed out
            return original(iterator, *args, **kwargs)

        return _reset

    def _around_next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            batch = original(iterator)
            ahead = self._ahead.get(iterator)
            drawn = ahead.popleft() if ahead else None
            self.last = drawn if isinstance(drawn, list | tuple) and len(drawn) <= MOST_INDICES else None
            return batch

        return __next__


def users_tensors(rows: int) -> dict[str, torch.Tensor]:
    """Tensors with this many rows among the variables of the user's function that is running: the batch, under the
    names it has there."""
    frame = user_frame()
    found: dict[str, torch.Tensor] = {}
    for name, value in variables(frame).items() if frame is not None else ():
        plain = isinstance(value, torch.Tensor) and watchable(value) and not value.requires_grad
        if plain and value.dim() and value.shape[0] == rows and value.nbytes <= MOST_BYTES and len(found) < MOST_NAMES:
            found[name] = value
    return found


def keep_batch(hub: Hub, name: str, contents: Mapping[str, Any]) -> str | None:
    """Write plain tensors and numbers into the recording; its place there, or None where that cannot be done. Read it
    with `torch.load(path, weights_only=True)`."""
    if not hub.keeps_batches or hub.store.broken or _bytes(contents) > MOST_BYTES:
        return None
    rank = hub.store.path.stem
    name = name if rank == "rank-0" else f"{rank}-{name}"  # all ranks share the directory
    folder = hub.store.folder / "batches"
    try:
        folder.mkdir(exist_ok=True)
        torch.save(_on_host(contents), folder / f"{name}.pt")
    except (OSError, RuntimeError):  # a full disk costs the batch, not the recording
        return None
    return f"batches/{name}.pt"


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_bytes(member) for _, member in entries(value))
    members = value if isinstance(value, list | tuple) else ()
    return sum(_bytes(member) for member in members)


def _on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().clone()  # without the rest of the storage that a slice is cut from
    if isinstance(value, Mapping):
        return {str(key): _on_host(member) for key, member in entries(value)}
    if isinstance(value, list | tuple):
        return [_on_host(member) for member in value]
    return value


drawn = Drawn()
