"""The schema of a recording: every kind of measurement that instruments write inside a training and symptoms read outside it.

A measurement is numbers with a step and a place. It holds no verdict, no threshold and no sentence: those live in the symptom that
reads it, so that a recording can be judged again by a newer version. The docstring of a kind says what was measured and each field
says its unit; `docs/recording.md` is made from this file. A kind that is added needs no other change here. A field that is
added gets a default, so that older recordings stay readable; a field whose meaning changes gets a new name.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

SCHEMA = "traindx.recording/2"
LINE = "measured"  # the kind of line that holds one
DIGITS = 7  # significant digits written: what single precision knows


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What all kinds have. `step` counts optimiser updates before it; `where` is a layer, a parameter or file:line."""

    step: int = 0
    where: str = ""


Kind = TypeVar("Kind", bound=Measurement)


# --- layers: activations, gradients, signal strength, initialisation --------------------------------------------------


# --- labels, classes and samples --------------------------------------------------------------------------------------


# --- losses and outputs -----------------------------------------------------------------------------------------------


# --- evaluation, predictions, reconstruction --------------------------------------------------------------------------


# --- splits, leaks, batches, causality --------------------------------------------------------------------------------


# --- numerics, memory and time ----------------------------------------------------------------------------------------


class MemoryTrend(NamedTuple):
    """The straight line through the readings of one memory, the first quarter of them left out as warm-up."""

    readings: int  # so far, with those left out
    updates: int  # between the first and the last on the line
    first: float  # bytes, at the first on the line
    last: float  # bytes
    slope: float  # bytes an update
    explained: float  # share of the variance that lies on the line


class MemoryUse(Measurement, frozen=True, kw_only=True):
    """How the memory of the training develops, and whether graphs of losses outlive their update."""

    host: MemoryTrend | None = None  # resident memory of the process; None where the system does not say
    device: MemoryTrend | None = None  # what tensors take on the GPU; None without one
    graphs: int = 0  # of losses five updates old or older that were marked
    graphs_alive: int = 0  # of those


class WaitingLine(NamedTuple):
    """A line that makes the host wait for the GPU."""

    line: str  # file:line
    code: str  # its source, shortened
    waits: float  # in a step, median of the steps watched


class HostWaits(Measurement, frozen=True, kw_only=True):
    """How often the host waits for the GPU in a step, by the line of the script."""

    steps: int  # watched from update to update
    step_seconds: float  # from update to update, recording left out
    waits: int  # in a step: the medians of the lines that wait in the median step, added up
    lines: tuple[WaitingLine, ...]  # those that wait most often, first


class BatchTransfers(Measurement, frozen=True, kw_only=True):
    """The way of batches from the loader to the model on the GPU."""

    seconds: tuple[float, ...]  # of each batch timed so far
    step_seconds: float  # from update to update, recording left out
    size: int  # bytes of the last batch
    pinned: bool  # it lay in pinned memory


# --- parameters, optimisers, updates ----------------------------------------------------------------------------------


# --- phases, objectives, ranks ----------------------------------------------------------------------------------------


# --- clearing and decay -----------------------------------------------------------------------------------------------


class DecayedWeights(Measurement, frozen=True, kw_only=True):
    """The size of the weight matrices under weight decay."""

    decay: float  # the largest weight decay of the optimiser
    ratios: tuple[float, ...]  # norm now by norm at the first look, one a matrix
    normalised: bool  # the model has a normalisation layer


class ClearedGradients(Measurement, frozen=True, kw_only=True):
    """How many updates of one optimiser began with gradients of an update before. `where` is the line of the update."""

    left_over: int  # updates so far whose gradients had not been cleared since the one before
    cleared: int  # updates so far whose gradients had been


class GradientsAtUpdate(Measurement, frozen=True, kw_only=True):
    """Whether the gradients of the last backward pass were still there when the optimiser wanted them. `where` is the line of the
    zero_grad that was called between the two."""

    missing: int  # updates so far without them
    used: int  # updates so far with them


class BackwardPasses(Measurement, frozen=True, kw_only=True):
    """How many backward passes from one line, each on a mean that is not divided, add up before an update. `where` is that line.
    Passes from several lines, or on a loss that is divided or weighted, count as one."""

    fewest: int  # passes before any update looked at
    most: int
    updates: int  # looked at so far
    optimizer: str  # its class


# --- reading and writing ----------------------------------------------------------------------------------------------


def kinds() -> dict[str, type[Measurement]]:
    """Every kind by its name."""
    return {kind.__name__: kind for kind in Measurement.__subclasses__()}


def as_line(measurement: Measurement, step: int) -> dict[str, Any]:
    """A measurement as the line of a recording that `from_line` reads."""
    fields = {name: _short(value) for name, value in msgspec.structs.asdict(measurement).items() if name != "step"}
    if not fields["where"]:
        del fields["where"]
    return {"of": type(measurement).__name__, "step": step, **fields}


def from_line(entry: Mapping[str, Any]) -> Measurement | None:
    """The measurement in a line; None for a kind that this version does not know. A line that does not fit its kind is a
    `ValueError`."""
    kind = kinds().get(str(entry.get("of")))
    if kind is None:
        return None
    try:
        return msgspec.convert({name: value for name, value in entry.items() if name not in ("k", "of")}, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error


def _short(value: Any) -> Any:
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_short(one) for one in value]
    return value


class Measured:
    """The measurements of one rank, by kind, in the order they were made."""

    def __init__(self, measurements: Iterable[Measurement] = (), rank: int = 0) -> None:
        self.rank = rank
        self._by_kind: dict[type[Measurement], list[Measurement]] = defaultdict(list)
        for one in measurements:
            self.add(one)

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def add(self, measurement: Measurement) -> None:
        self._by_kind[type(measurement)].append(measurement)

    def all(self, kind: type[Kind]) -> list[Kind]:
        return list(self._by_kind.get(kind, ()))  # type: ignore[arg-type]

    def last(self, kind: type[Kind]) -> Kind | None:
        found = self._by_kind.get(kind)
        return found[-1] if found else None  # type: ignore[return-value]

    def latest(self, kind: type[Kind]) -> list[Kind]:
        """The last one of each place, in the order the places were first met."""
        return list({one.where: one for one in self.all(kind)}.values())
