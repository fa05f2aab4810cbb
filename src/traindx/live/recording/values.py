"""Values on their way from the device to the recording, without ever waiting for the device in the hot path."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence

import torch
from torch._C._functorch import is_functorch_wrapped_tensor

TOGETHER = 64  # numbers of one device that travel together
SEND_SECONDS = 0.5  # and how long the first of them waits for the others
# Results of these are written again by the next step: a CUDA graph is replayed into the same memory.
_REUSED = ("CompiledFunction", "Graphed")


class Number:
    """A number that may still be on its way from a device: `value` is None until it has arrived. One whose tensor was
    written to before it could be read is `lost`."""

    __slots__ = ("lost", "value")

    def __init__(self, value: float | None = None) -> None:
        self.value = value
        self.lost = False


Parts = Sequence[tuple[Number, float]]  # numbers and what each is divided by


class Values:
    """Numbers by step and name, handed out when all numbers of a step have arrived. Tensors on a GPU are kept until
    there are many, then go to pinned memory in one copy and are read when that has long arrived."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, float]] = {}
        self._late: list[tuple[int, str, Parts]] = []  # recorded before their numbers have arrived
        self._kept: dict[tuple[int, int], list[tuple[Number, torch.Tensor, int]]] = {}  # by device and stream
        self._pending: deque[tuple[list[Number], torch.Tensor, torch.cuda.Event]] = deque()
        self._elsewhere: list[tuple[Number, torch.Tensor]] = []  # on devices that cannot be asked without waiting
        self._sent = 0.0

    def fetch(self, tensor: torch.Tensor) -> Number | None:
        """The number in a tensor of one element; None where it cannot be known: in a transform, on the meta device,
        while a CUDA graph is captured, in a tensor that is spread over processes."""
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or is_functorch_wrapped_tensor(tensor):
            return None
        if tensor.is_cpu:
            return Number(tensor.item())
        if tensor.is_meta:
            return None
        number = Number()
        if not tensor.is_cuda:
            self._elsewhere.append((number, tensor.detach().reshape(()).clone()))
            return number
        if torch._C._cuda_isCurrentStreamCapturing():
            return None
        node = tensor.grad_fn
        source = tensor.detach()
        if source.dim():
            source = source.reshape(())
        # what no operation of this step has made may be somebody's buffer
        if node is None or node.name().startswith(_REUSED):
            source = source.clone()
        index = tensor.get_device()
        key = (index, torch._C._cuda_getCurrentRawStream(index))
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = []
        kept.append((number, source, source._version))
        if len(kept) >= TOGETHER:
            self._send(key)
        return number

    def add(self, step: int, name: str, value: Number | torch.Tensor | float) -> None:
        if isinstance(value, torch.Tensor):
            number = self.fetch(value)
            if number is None:
                return
            value = number
        if isinstance(value, Number):
            if value.value is None:
                self._late.append((step, name, ((value, 1.0),)))
                return
            value = value.value
        row = self._rows.get(step)
        if row is None:
            row = self._rows[step] = {}
        row[name] = float(value)

    def add_row(self, step: int, values: dict[str, float]) -> None:
        """Several numbers of a step that are known already."""
        row = self._rows.get(step)
        if row is None:
            self._rows[step] = values
        else:
            row.update(values)

    def add_mean(self, step: int, name: str, parts: Parts) -> None:
        """The mean of several numbers, taken when the last of them has arrived."""
        self._late.append((step, name, tuple(parts)))

    def poll(self, *, wait: bool = False) -> None:
        """Send what has waited long enough and take in what has arrived; costs nothing while nothing is under way. With
        `wait`, everything arrives."""
        if self._kept:
            now = time.monotonic()
            if wait or now - self._sent > SEND_SECONDS:
                self._sent = now
                for key in list(self._kept):
                    self._send(key)
            self._receive(wait=wait)
        if self._elsewhere and (wait or len(self._elsewhere) >= TOGETHER):
            elsewhere, self._elsewhere = self._elsewhere, []
            for number, tensor in elsewhere:
                number.value = tensor.item()

    def ready(self, *, wait: bool) -> Iterator[tuple[int, dict[str, float]]]:
        """The rows whose values have all arrived; with `wait` (at the end) all of them."""
        self.poll(wait=wait)
        late, self._late = self._late, []
        for step, name, parts in late:
            found = [(number, divisor) for number, divisor in parts if not number.lost]
            numbers = [number.value / divisor for number, divisor in found if number.value is not None]
            if numbers and len(numbers) == len(found):
                self.add(step, name, sum(numbers) / len(numbers))
            elif found and not wait:
                self._late.append((step, name, parts))
        open_steps = {step for step, _, _ in self._late}
        for step in sorted(set(self._rows) - open_steps):
            yield step, self._rows.pop(step)

    def _send(self, key: tuple[int, int]) -> None:
        kept, self._kept[key] = self._kept[key], []
        numbers: list[Number] = []
        tensors: list[torch.Tensor] = []
        for number, tensor, version in kept:
            if tensor._version == version:
                numbers.append(number)
                tensors.append(tensor)
            else:
                number.lost = True
        if not numbers:
            return
        index, raw = key
        stream = torch.cuda.ExternalStream(raw, device=index) if raw else torch.cuda.default_stream(index)  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):  # where the numbers were made, so that they are there
            alike = len({tensor.dtype for tensor in tensors}) == 1
            stacked = torch.stack(tensors if alike else [tensor.double() for tensor in tensors]).double()
            copy = torch.empty(len(numbers), dtype=torch.float64, device="cpu", pin_memory=True)
            copy.copy_(stacked, non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record(stream)
        self._pending.append((numbers, copy, event))

    def _receive(self, *, wait: bool) -> None:
        while self._pending and (wait or self._pending[0][2].query()):  # type: ignore[no-untyped-call]
            numbers, copy, event = self._pending.popleft()
            if wait:
                event.synchronize()
            for number, value in zip(numbers, copy.tolist(), strict=True):
                number.value = value
