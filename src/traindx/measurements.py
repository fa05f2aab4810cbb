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


class FutureDependence(Measurement, frozen=True, kw_only=True):
    """How outputs of a sequence model at earlier places answer to another last token. `where` is the model's class."""

    change: float  # largest difference of an output before the last place, by the largest output
    noise: float  # the same between two equal calls
    places: int  # tokens in a sequence
    next_tokens: float  # share of the targets that are the input one place ahead


class BatchClasses(Measurement, frozen=True, kw_only=True):
    """The class that most samples belong to, in each of the first training batches, in their order."""

    classes: tuple[int, ...]  # one a batch: the most frequent of its first, middle and last label
    shares: tuple[float, ...]  # of the batch that belong to it
    sequential: bool | None  # the loader goes through the data in order; None: no loader, or it is not known


class InputScale(Measurement, frozen=True, kw_only=True):
    """The scale of a training batch where data first meets weights. `where` is that layer."""

    normalising: bool  # the layer itself normalises; nothing else is measured then
    batch: int = 0  # looked at so far, this one included
    update: int = 0  # that the batch is for, counted from 1
    largest: float = 0.0  # |mean| or standard deviation, the larger of the two, of the feature where it is largest
    smallest: float = 0.0  # the same where it is smallest, among features that vary; 0 where none does
    feature: int = 0  # the number of the largest
    mean: float = 0.0  # of that feature
    std: float = 0.0
    peak: float = 0.0  # largest absolute value of all samples, those left out of the scale included


class TargetScale(Measurement, frozen=True, kw_only=True):
    """The scale of a regression's targets and of its outputs at the first update. `where` is the line of the loss."""

    mean: float
    std: float  # standard deviation of the targets
    output: float  # root of the mean square of the outputs


class BatchSize(Measurement, frozen=True, kw_only=True):
    """How many samples one update sees: the most that any model is given during the first updates."""

    rows: int  # in the batch
    samples: int  # the same, where each position of a sequence counts that has an answer of its own
    table: bool  # a sample is one row of numbers


class RateRange(NamedTuple):
    """The rates of one kind of optimiser: lr / (1 - momentum) is largest with the first pair and smallest with the
    second."""

    optimizer: str  # its class
    highest_lr: float
    highest_momentum: float
    lowest_lr: float
    lowest_momentum: float


class SmallBatches(Measurement, frozen=True, kw_only=True):
    """The losses and rates of a training whose updates see a sample or two."""

    losses: int  # in the window of the last ones
    mean: float  # of those in it that have arrived and are finite
    std: float  # their standard deviation
    nonfinite: int  # NaN or Inf in it
    first: float  # mean of the first losses of the training
    accumulated: bool  # several backward passes came before some update
    rates: tuple[RateRange, ...]  # so far


class CallsAlike(NamedTuple):
    """Calls of a model, or batches of a loader, in one evaluation that hold about the same share of training rows."""

    calls: int
    rows: int  # different ones in all these calls
    trained: int  # of them that were trained on, as far as that was seen
    in_table: int  # of them that stand in the table that training batches are cut from
    both: int  # of them that were trained on and stand in the table


class EvaluatedRows(Measurement, frozen=True, kw_only=True):
    """Rows of one evaluation that are, byte for byte, among the training rows seen. `where` is what they were read
    from: the model's class, a loader or a dataset."""

    calls: tuple[CallsAlike, ...]
    dispersion: float  # chi-square of the trained rows over the calls, if each held the same share; 0: all or none are
    border: int  # most rows trained on, one behind the other, at the border of a call whose neighbour holds no others
    table_border: int  # the same for rows of the table
    training_rows: int  # different ones seen
    known: float  # share of all training rows that those are, by how many come back or by the table's length
    table_rows: int  # in the smallest table that all training rows seen stand in; 0: none known
    table_distinct: int  # of them that differ
    whole: bool  # all rows of the evaluation were seen
    later: bool = False  # compared at the end, with what was trained on after the evaluation too
    first_training_rows: int = 0  # seen when these rows were evaluated first
    first_trained: int = 0  # of the rows that were trained on by then


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
