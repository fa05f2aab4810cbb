"""Numbers that observers need from a device, read when they have arrived, never by waiting for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

LIMIT = 64  # answers under way at most; more are dropped, for they are only samples


class Later:
    """Asks for the values of a tensor. Those in host memory are handed over at once; those on a GPU are copied to pinned
    memory in the background and handed over by a later `poll`. Other devices cannot be asked without waiting for them."""

    def __init__(self) -> None:
        self._flying: list[tuple[torch.Tensor, torch.cuda.Event, Callable[[Any], None]]] = []

    def ask(self, tensor: torch.Tensor, then: Callable[[Any], None]) -> None:
        if tensor.device.type == "cpu":
            then(tensor.tolist())
        elif tensor.is_cuda and len(self._flying) < LIMIT:
            copy = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=True)
            copy.copy_(tensor, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(tensor.device))
            self._flying.append((copy, event, then))

    def poll(self, *, wait: bool = False) -> None:
        """Hand over what has arrived, in the order it was asked for."""
        while self._flying and (wait or self._flying[0][1].query()):  # type: ignore[no-untyped-call]
            copy, event, then = self._flying.pop(0)
            if wait:
                event.synchronize()
            then(copy.tolist())
