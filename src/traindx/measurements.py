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
from typing import Any, TypeVar

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


class NetworkGraph(Measurement, frozen=True, kw_only=True):
    """What lies between the parameters and the loss, read from the autograd graph of the first losses that have two
    layers or more behind them."""

    looks: int  # graphs so far in which activation functions were looked for
    functions: tuple[str, ...]  # activation functions met in them: relu, sigmoid, tanh
    whole: int  # graphs so far that were small enough to be read to their end
    linear: int  # of those: graphs in which every operation between two layers is linear
    layers: int  # multiplications by weights in the last of those
    first: str  # its layer nearest to the input; empty where no module holds its weights
    last: str  # its layer nearest to the loss


class UnitsOn(Measurement, frozen=True, kw_only=True):
    """How many units of a ReLU layer were above zero for any sample in the last looks (five at most). Made at the
    third look, and again later for layers of which none was. Only the layers with the fewest such units are
    listed."""

    layers: tuple[str, ...]  # names, with the function
    on: tuple[int, ...]  # units above zero, one number a layer
    rows: tuple[int, ...]  # samples (and positions) looked at, one number a layer


class FlatOutputs(Measurement, frozen=True, kw_only=True):
    """How much of what hidden sigmoid and tanh layers give out lies at the flat ends (|tanh| above 0.97, a sigmoid
    outside 0.03 to 0.97) in the first three looks. `where` is the layer with the largest share."""

    layers: int  # looked at
    shares: tuple[float, ...]  # of the outputs, the least of the looks, one a layer; largest first; thinned evenly


class ClippedGradients(Measurement, frozen=True, kw_only=True):
    """What clipping does to the norm of the gradient. `where` is the line that clips."""

    by: str  # "norm" or "value"
    limit: float  # the norm or the value that was asked for last
    looks: int  # clippings whose norm is known
    cut: float  # share of those that made the gradient shorter
    times: float  # median norm before, by the limit (norm) or by the norm after it (value)
    sgd: bool  # the optimiser is SGD: updates are in proportion to the gradient
    rate: float | None  # its first learning rate; None where it is no plain number


class FirstPass(Measurement, frozen=True, kw_only=True):
    """How much the outputs of layers with weights vary with the sample in the first pass through the untrained
    model, in order of execution; recurrent layers at a few moments of the sequence. `where` is the last
    output."""

    first: str  # name of the first output
    spreads: tuple[float, ...]  # standard deviation over the samples, mean over the features, one an output


class InitialUnits(Measurement, frozen=True, kw_only=True):
    """Whether the units of a hidden matrix differ before the first update. The last matrix is left out: its units
    differ by their targets."""

    matrices: int  # hidden ones that were compared
    equal: int  # in which all units have the same weights
    nonzero: int  # of those: ones that do not hold zeros only
    names: tuple[str, ...]  # the first of the equal ones
    by_unit: bool  # False: which side the units are on is not known, and equal is one number everywhere


class InitialZeros(Measurement, frozen=True, kw_only=True):
    """Matrices that hold zeros only before the first update and get a gradient of exactly zero."""

    matrices: int  # looked at: those with a gradient
    zero: int  # weights and gradient zero
    names: tuple[str, ...]  # the first of those


class InitialScales(Measurement, frozen=True, kw_only=True):
    """The size of the weights before the first update: standard deviation times the square root of the fan-in, by
    matrix. Matrices in which all units are equal have none."""

    layers: int  # matrices that have one
    scales: tuple[float, ...]  # in the order of the model; thinned evenly
    loop: float  # the largest one of a recurrent matrix; 0 without any
    loop_name: str  # of that matrix
    widest: str  # matrix with the largest standard deviation
    first: str  # first matrix of the model
    normalised: bool  # the model has a normalisation layer


# --- labels, classes and samples --------------------------------------------------------------------------------------


# --- losses and outputs -----------------------------------------------------------------------------------------------


# --- evaluation, predictions, reconstruction --------------------------------------------------------------------------


# --- splits, leaks, batches, causality --------------------------------------------------------------------------------


# --- numerics, memory and time ----------------------------------------------------------------------------------------


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
