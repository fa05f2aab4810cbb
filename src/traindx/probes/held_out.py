"""Data that the training does not see: the steps of an evaluation, or what other loaders of the script hold.

A loader's batch takes the place of the training batch in a captured step, where it is certain which tensor is which.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset

from traindx.probes.nested import tensors
from traindx.probes.state import Noise
from traindx.probes.subject import Outcome, Part, Step, Swap

BATCHES = 4
SECONDS = 1.0  # after which no further one is read
SEED = 20260104


class Fed(Part):
    """A captured computation on other data."""

    def __init__(self, part: Part, exchanged: dict[int, torch.Tensor]) -> None:
        self._part, self._exchanged = part, exchanged
        self.data = tuple(exchanged.get(id(tensor), tensor) for tensor in part.data)
        self.targets = tuple(exchanged.get(id(tensor), tensor) for tensor in part.targets)

    def run(self, swap: Swap | None, same_noise: bool, targets: Swap | None = None) -> Outcome:
        def put(change: Swap | None) -> Swap:
            def exchange(tensor: torch.Tensor) -> torch.Tensor:
                other = self._exchanged.get(id(tensor), tensor)
                return other if change is None else change(other)

            return exchange

        return self._part.run(put(swap), same_noise, put(targets))


def fresh_steps(evaluated: Sequence[Step], trained: Sequence[Step]) -> tuple[Step, ...]:
    """Evaluated steps without those on batches that were just trained on: metrics of the training."""

    def same(one: Step, other: Step) -> bool:
        return len(one.data) == len(other.data) and all(map(_equal, one.data, other.data))

    return tuple(step for step in evaluated if not any(same(step, other) for other in trained))


def other_loaders(training: Any) -> tuple[DataLoader[Any], ...]:
    """Loaders in this process that give other data than the training's, in the order they were made."""
    if not isinstance(training, DataLoader):
        return ()
    found = [one for one in gc.get_objects() if issubclass(type(one), DataLoader) and "dataset" in one.__dict__]
    return tuple(one for one in found if one.dataset is not training.dataset and readable(one))


def readable(loader: Any) -> bool:
    """Whether its data may be read once more without a change for the training."""
    return (
        isinstance(loader, DataLoader)
        and not isinstance(loader.dataset, IterableDataset)
        and hasattr(loader.dataset, "__len__")
        and len(loader.dataset) > 0
    )


def reread(loader: DataLoader[Any], batch: int, shuffled: bool = True) -> DataLoader[Any]:
    """The same data set in an order of our own, in this process."""
    count = len(loader.dataset)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(SEED)
    order = torch.randperm(count, generator=generator).tolist() if shuffled else list(range(count))
    whole = loader.batch_size is None and loader.batch_sampler is None  # each item is a batch already
    options: dict[str, Any] = (
        {"sampler": order, "batch_size": None}
        if whole
        else {"batch_sampler": [order[k : k + batch] for k in range(0, count, batch)]}
    )
    return DataLoader(loader.dataset, collate_fn=loader.collate_fn, generator=generator, **options)


def steps_from(loaders: Sequence[Any], step: Step, batch: Any) -> tuple[Step, ...]:
    """The captured step on batches of the first of these loaders whose batches are made like the training's."""
    if len(step.parts) != 1 or batch is None:
        return ()
    part = step.parts[0]
    places = _places(part, list(tensors(batch)))
    for loader in loaders if places else ():
        noise = Noise()
        try:
            began, made = time.monotonic(), list[Step]()
            for number, other in enumerate(islice(reread(loader, step.size), BATCHES)):
                made.append(Step((_fed(part, places, list(tensors(other))),), number))
                if time.monotonic() - began > SECONDS:
                    break
            return tuple(made)
        except Exception:  # the user's data set, or a model that these batches do not fit
            continue
        finally:
            noise.restore()
    return ()


def _places(part: Part, given: list[torch.Tensor]) -> dict[int, int]:
    """Which tensor of the batch each tensor of the computation is; nothing where one that counts samples is none of
    them."""
    found: dict[int, int] = {}
    size = part.data[0].shape[0] if part.data and part.data[0].dim() else None
    for tensor in (*part.data, *part.targets):
        place = next((number for number, one in enumerate(given) if _equal(one, tensor)), None)
        if place is not None:
            found[id(tensor)] = place
        elif tensor.dim() and tensor.shape[0] == size:
            return {}
    return found


def _fed(part: Part, places: dict[int, int], batch: list[torch.Tensor]) -> Fed:
    kept = {id(tensor): tensor for tensor in (*part.data, *part.targets)}
    fed = Fed(part, {key: batch[place].to(kept[key].device, kept[key].dtype) for key, place in places.items()})
    with torch.no_grad():
        fed.run(None, True)
    return fed


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one.detach().to(other.device, other.dtype), other.detach())
