"""Measures what the ranks of a distributed training can be compared by: fingerprints of the weights and of the data,
and where the time goes. Each rank writes its own, at the same steps and without a word to the others; symptoms compare.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakSet

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps, on_every_step
from traindx.live.events.naming import plain
from traindx.live.host.ranks import in_group, place, spread_of
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import LINE, RankLayout, RankStep, as_line

MAX_PARAMETERS = 32  # of the model, evenly chosen
SAMPLE = 1024  # numbers of each parameter, and of a batch's targets
APART = 8  # fingerprints are taken at each of the first steps, and then whenever an eighth more of them has gone by


class Replicas(Observer):
    """Waits for a process group; a training in one process pays for nothing else."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._wrapped: WeakSet[torch.nn.Module] = WeakSet()
        self._met = False

    def attach(self) -> None:
        self.hub.patch(DistributedDataParallel, "__init__", self._around_wrap)

    def _around_wrap(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(model: Any, *args: Any, **kwargs: Any) -> None:
            original(model, *args, **kwargs)
            if not self.hub.inside:
                self._wrapped.add(model)

        return __init__

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self._met and in_group():
            self._met = True
            ticks = _Ticks(self.hub, self._wrapped)
            self.hub.add(ticks)
            ticks.on_backward(loss)


class _Ticks(Observer):
    """Measures at each step on which the ranks are compared."""

    def __init__(self, hub: Hub, wrapped: WeakSet[torch.nn.Module]) -> None:
        super().__init__(hub)
        self._wrapped = wrapped
        self._copies = AsyncCopy()
        self._rank = place()[0]
        self._due = 0
        self._names: list[str] = []
        self._places = torch.linspace(1.0, 2.0, SAMPLE, dtype=torch.float64)
        self._target: torch.Tensor | None = None  # fingerprint of what this step is trained on
        self._since = self._step_began = 0.0
        self._waiting = 0.0  # for data, since the last backward
        self._steps, self._whole, self._own, self._waited = 0, 0.0, 0.0, 0.0  # of all steps that were not deep

    @on_every_step
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._waiting += seconds

    def on_criterion(self, call: Criterion) -> None:
        if self.hub.step >= self._due and call.output.requires_grad and watchable(call.target):
            self._target = self._prints([call.target.detach().reshape(-1)[:SAMPLE]])[0]

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        self._copies.poll()
        if self._since and not self.hub.deep:
            self._own += time.perf_counter() - self._since
            self._waited += self._waiting
        self._waiting = 0.0
        if self.hub.step >= self._due:
            self._due = self.hub.step + max(1, self.hub.step // APART)
            self._measure(loss)
        self._target = None

    @on_every_step
    def on_gradients(self, loss: torch.Tensor) -> None:
        # between the last `backward` and the update the ranks have just waited for each other
        self._since = time.perf_counter()

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        now = time.perf_counter()
        if self._step_began and not self.hub.deep:
            self._steps += 1
            self._whole += now - self._step_began
        self._since = self._step_began = now

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _measure(self, loss: torch.Tensor) -> None:
        readable = loss.device.type in ("cpu", "cuda")
        models = list(self._wrapped) or list(self.hub.models.values())
        spread = spread_of(models)
        chosen = _choose(models, loss.device) if readable and spread in ("replicated", "apart") else []
        names = [name for name, _ in chosen]
        if names != self._names or not self.hub.step:
            self._names = names
            self.hub.measure(RankLayout(rank=self._rank, spread=spread, names=tuple(names)))
        numbers = self._prints([weight for _, weight in chosen]) if chosen else []
        prints = [one for one in (self._target, loss.detach()) if one is not None and one.numel() == 1 and readable]
        seen = (self._target is not None, len(names))
        now = RankStep(
            rank=self._rank,
            steps=self._steps,
            whole=self._whole,
            own=self._own,
            waited=self._waited,
            host=loss.device.type == "cpu",
        )
        write = partial(self._write, self.hub.step, seen, now)
        numbers += [one.reshape(1).to(torch.float64) for one in prints]
        if numbers and len({number.device for number in numbers}) == 1:
            self._copies.ask(torch.cat(numbers), write)
        else:
            write([])

    def _prints(self, rows: list[torch.Tensor]) -> list[torch.Tensor]:
        """For each of some rows of numbers a sum weighted by place, and their norms. Another order gives another sum,
        and so does an update that leaves the plain sum alone, as that of the last layer under cross-entropy does."""
        table = pad_sequence([row.to(torch.float64) for row in rows], batch_first=True)
        if self._places.device != table.device:
            self._places = torch.linspace(1.0, 2.0, SAMPLE, dtype=torch.float64, device=table.device)
        return [table @ self._places[: table.shape[1]], torch.linalg.vector_norm(table, dim=1)]

    def _write(self, step: int, seen: tuple[bool, int], now: RankStep, numbers: list[float]) -> None:
        """Past the thinning, for all ranks must write the same steps, and with every digit, for equal ones must be
        equal."""
        with_target, count = seen
        rest = numbers[2 * count :]
        fingerprints = {
            "sums": numbers[:count],
            "norms": numbers[count : 2 * count],
            "target": rest.pop(0) if rest and with_target else None,
            "loss": rest.pop(0) if rest else None,
        }
        self.hub.store.line(LINE, **as_line(now, step) | fingerprints)


def _choose(models: list[torch.nn.Module], device: torch.device) -> list[tuple[str, torch.Tensor]]:
    """The first numbers of some trainable parameters, spread evenly over the models."""
    every: list[tuple[str, torch.Tensor]] = []
    for number, model in enumerate(models):
        prefix = f"{type(model).__name__}{number}." if number else ""
        ignored = {f"module.{name}" for name in getattr(model, "parameters_to_ignore", ())}
        every += [(prefix + name, p) for name, p in model.named_parameters() if p.requires_grad and name not in ignored]
    if len(every) > MAX_PARAMETERS:
        every = [every[round(index * (len(every) - 1) / (MAX_PARAMETERS - 1))] for index in range(MAX_PARAMETERS)]
    return [(plain(name), _first_numbers(p)) for name, p in every if p.device == device and _is_simple(p)]


def _is_simple(weight: torch.Tensor) -> bool:
    dense = weight.is_contiguous() or weight.is_contiguous(memory_format=torch.channels_last)
    return dense and watchable(weight) and not weight.is_complex()


def _first_numbers(weight: torch.Tensor) -> torch.Tensor:
    return weight.detach().as_strided((min(SAMPLE, weight.numel()),), (1,), weight.storage_offset())


OBSERVER = Replicas
