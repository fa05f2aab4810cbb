"""Numbers that observers need from a device, read when they have arrived, never by waiting for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from traindx.live.host.threads import single_threaded

LIMIT = 64  # answers under way at most; more are dropped, for they are only samples


class AsyncCopy:
    """Asks for the values of a tensor. Those in host memory are handed over at once; those on a GPU are copied to
    pinned memory in the background and handed over by a later `poll`. Other devices cannot be asked without waiting for
    them."""

    def __init__(self) -> None:
        self._pending: list[tuple[list[torch.Tensor], torch.cuda.Event, Callable[..., None]]] = []

    def ask(self, tensor: torch.Tensor, then: Callable[[Any], None]) -> None:
        self.to_host(tensor, lambda here: then(here.tolist()))

    def to_host(self, tensor: torch.Tensor, then: Callable[[torch.Tensor], None]) -> None:
        self.bring_all((tensor,), then)

    def bring_all(self, tensors: Sequence[torch.Tensor], then: Callable[..., None]) -> None:
        """The same for who wants to calculate with the numbers: on a GPU, every kind of operation that is new to it
        takes milliseconds to load the first time, and a look at a few numbers needs many kinds."""
        first = tensors[0]
        if all(tensor.device.type == "cpu" for tensor in tensors):
            then(*tensors)
        elif first.is_cuda and len(self._pending) < LIMIT and {tensor.device for tensor in tensors} == {first.device}:
            copies = [torch.empty(one.shape, dtype=one.dtype, device="cpu", pin_memory=True) for one in tensors]
            for copy, tensor in zip(copies, tensors, strict=True):
                copy.copy_(tensor, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(first.device))
            self._pending.append((copies, event, then))

    def poll(self, *, wait: bool = False) -> None:
        """Hand over what has arrived, in the order it was asked for."""
        while self._pending and (wait or self._pending[0][1].query()):  # type: ignore[no-untyped-call]
            copies, event, then = self._pending.pop(0)
            if wait:
                event.synchronize()
            with single_threaded():
                then(*copies)
