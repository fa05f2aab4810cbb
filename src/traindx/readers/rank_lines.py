"""What one rank of a distributed training has written for the comparison with the others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from traindx.run import Event, Fact


@dataclass(frozen=True, slots=True)
class Tick:
    """One step at which every rank wrote its fingerprints; the times are sums since the start of the training."""

    sums: tuple[float, ...]
    norms: tuple[float, ...]
    target: float | None
    loss: float | None
    steps: int
    whole: float
    own: float
    waited: float
    host: bool  # times of the host are times of the training


@dataclass(slots=True)
class Rank:
    """A rank's own story. `names` are the parameters whose fingerprints the ticks hold, `spread` is how the model is spread
    over the ranks: 'replicated', 'sharded', 'apart' or 'other'."""

    number: int
    meta: dict[str, Any] = field(default_factory=dict)
    world: int = 1
    spread: str = ""
    names: tuple[str, ...] = ()
    ticks: dict[int, Tick] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def take(self, entry: dict[str, Any]) -> None:
        """One line of the recording, where it is about ranks."""
        kind = entry.get("k")
        if kind == "meta":
            self.meta = entry
            self.world = int(entry.get("world", 1))
        elif kind == "spread":
            self.spread = str(entry.get("spread", ""))
            names = tuple(str(name) for name in entry.get("names", ()))
            if names != self.names:
                self.names = names
                self.ticks = {}  # fingerprints of other parameters do not compare
        elif kind == "tick":
            with suppress(KeyError, TypeError, ValueError):  # a damaged line is one comparison less
                self.ticks[int(entry["step"])] = Tick(
                    tuple(entry["sums"]), tuple(entry["norms"]), entry["target"], entry["loss"], int(entry["steps"]),
                    float(entry["whole"]), float(entry["own"]), float(entry["waited"]), bool(entry["host"]),
                )  # fmt: skip
