"""Everything measured of one checkpoint, tensor by tensor, and what it was compared with."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from traindx.checkpoints.drift import Drift, drift
from traindx.checkpoints.initial import FEWEST_UNIFORM, initial, is_embedding
from traindx.checkpoints.measure import Stats, measure, sample_size
from traindx.checkpoints.moments import MOMENTS, Update, steps_made, updates
from traindx.checkpoints.owners import BUFFER
from traindx.checkpoints.parts import Checkpoint
from traindx.checkpoints.tensor import Tensor
from traindx.errors import TraindxError

Progress = Callable[[str, int, int], None]  # what is read, bytes done, bytes in all
SECONDS, BYTES_A_SECOND = 20.0, 20e6  # that measuring may take, by the size: a slow disk reads more
ADAPTER = re.compile(r"lora|adapter|loha|lokr|ia3", re.IGNORECASE)
_NORM_GAIN = re.compile(r"(norm\w*|(^|[._])(ln|bn)[_\w]*)\.weight$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layer:
    """One tensor: its statistics, the start it cannot be told from, its last update and its way since an earlier
    checkpoint."""

    stats: Stats
    start: str
    update: Update | None = None
    drift: Drift | None = None

    @property
    def name(self) -> str:
        return self.stats.name

    @property
    def tensor(self) -> Tensor:
        return self.stats.tensor

    @property
    def buffer(self) -> bool:
        return not self.tensor.floating or bool(BUFFER.search(self.name)) or self.stats.mask

    @property
    def matrix(self) -> bool:
        """A weight that is large enough to be judged: no bias, gain, buffer, embedding or adapter."""
        return (
            len(self.tensor.shape) >= 2 and self.tensor.size >= FEWEST_UNIFORM and not self.buffer
            and not is_embedding(self.name) and not ADAPTER.search(self.name)
        )  # fmt: skip

    @property
    def untouched(self) -> bool:
        """Still within the sharp edges of a uniform start, which any training blurs. A normal start has no edges and
        proves nothing here."""
        return self.start.startswith("uniform")

    @property
    def trained_gain(self) -> bool:
        """The gain of a normalisation layer that is no longer one everywhere: somebody trained here."""
        return bool(_NORM_GAIN.search(self.name)) and len(self.tensor.shape) == 1 and self.stats.constant is None


@dataclass
class Measured:
    """A checkpoint with its layers in file order; `before` is the earlier one it was compared with."""

    checkpoint: Checkpoint
    layers: dict[str, Layer]
    unnamed: dict[str, Update] = field(default_factory=dict)  # moments whose parameter is not certain
    before: Checkpoint | None = None

    @property
    def updates(self) -> list[Update]:
        return [layer.update for layer in self.layers.values() if layer.update is not None] + list(
            self.unnamed.values()
        )

    @property
    def steps(self) -> float | None:
        """How many updates were made, by the optimisers' own count."""
        counted = [made for optimizer in self.checkpoint.optimizers if (made := steps_made(optimizer)) is not None]
        return sum(counted) if counted else None


def measured(checkpoint: Checkpoint, before: Checkpoint | None = None, progress: Progress | None = None) -> Measured:
    """Read every number once for the statistics, once more for the moments, and once more for the comparison."""
    done = 0
    states = [state for optimizer in checkpoint.optimizers for state in optimizer.state.values()]
    moments = sum(
        value.bytes for state in states for key, value in state.items() if key in MOMENTS and isinstance(value, Tensor)
    )
    weights = sum(tensor.bytes for tensor in checkpoint.weights.values())
    total = weights + (weights + moments if moments else 0) + (2 * weights if before else 0)

    def tick(tensor: Tensor) -> None:
        nonlocal done
        done += tensor.bytes
        if progress is not None:
            progress(f"reading {tensor.name}", min(done, total), total)

    if before is not None and not checkpoint.weights.keys() & before.weights.keys():
        raise TraindxError(
            f"{before.path} and {checkpoint.path} have no tensor in common.", "Give two checkpoints of the same model."
        )
    keep = sample_size(len(checkpoint.weights))
    pushed: dict[str, Update] = {}
    for optimizer in checkpoint.optimizers:
        pushed |= updates(optimizer, checkpoint, tick)
    layers: dict[str, Layer] = {}
    ends = time.monotonic() + SECONDS + total / BYTES_A_SECOND
    for name, tensor in checkpoint.weights.items():
        if time.monotonic() > ends:
            checkpoint.lost.append(
                f"{len(checkpoint.weights) - len(layers)} of {len(checkpoint.weights)} tensors were not measured: the "
                f"time for a file of this size was over."
            )
            break
        stats = measure(tensor, keep)
        tick(tensor)
        other = before.weights.get(name) if before is not None else None
        way = drift(other, tensor) if other is not None else None
        if before is not None:
            tick(tensor)
            tick(tensor)
        layers[name] = Layer(stats, initial(stats, checkpoint.config), pushed.pop(name, None), way)
    return Measured(checkpoint, layers, pushed, before)
