"""Values on their way from the device to the recording, without ever waiting for the device in the hot path."""

from __future__ import annotations

from collections.abc import Iterator

import torch


class Values:
    """Numbers and tensors by step. Tensors on a device are stacked and copied to pinned memory asynchronously; they are
    handed out one flush later, when the copy has long arrived."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, float]] = {}
        self._waiting: list[tuple[int, str, torch.Tensor]] = []
        self._flying: list[tuple[list[tuple[int, str]], torch.Tensor, torch.cuda.Event]] = []

    def add(self, step: int, name: str, value: torch.Tensor | float) -> None:
        if isinstance(value, torch.Tensor):
            value = value.detach()
            if value.is_cuda:
                self._waiting.append((step, name, value.reshape(()).to(torch.float64)))
                return
            value = float(value)
        self._rows.setdefault(step, {})[name] = float(value)

    def ready(self, *, wait: bool) -> Iterator[tuple[int, dict[str, float]]]:
        """The rows whose values have all arrived; with `wait` (at the end) all of them."""
        self._send()
        while self._flying and (wait or self._flying[0][2].query()):  # type: ignore[no-untyped-call]
            places, copy, event = self._flying.pop(0)
            if wait:
                event.synchronize()
            for (step, name), number in zip(places, copy.tolist(), strict=True):
                self._rows.setdefault(step, {})[name] = number
        open_steps = {step for places, _, _ in self._flying for step, _ in places}
        for step in sorted(set(self._rows) - open_steps):
            yield step, self._rows.pop(step)

    def _send(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        by_device: dict[torch.device, list[tuple[int, str, torch.Tensor]]] = {}
        for item in waiting:
            by_device.setdefault(item[2].device, []).append(item)
        for device, items in by_device.items():
            stacked = torch.stack([tensor for _, _, tensor in items])
            copy = torch.empty(stacked.shape, dtype=stacked.dtype, device="cpu", pin_memory=True)
            copy.copy_(stacked, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(torch.cuda.current_stream(device))
            self._flying.append(([(step, name) for step, name, _ in items], copy, event))
