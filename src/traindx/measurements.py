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


# --- labels, classes and samples --------------------------------------------------------------------------------------


# --- losses and outputs -----------------------------------------------------------------------------------------------


# --- evaluation, predictions, reconstruction --------------------------------------------------------------------------


# --- splits, leaks, batches, causality --------------------------------------------------------------------------------


# --- numerics, memory and time ----------------------------------------------------------------------------------------


# --- parameters, optimisers, updates ----------------------------------------------------------------------------------


class LoadedWeights(Measurement, frozen=True, kw_only=True):
    """Whether the weights come from an earlier training: by a call that loads them, or from a library that does so in
    its own way."""

    loaded: bool  # torch.load or load_state_dict was called by the script
    libraries: tuple[str, ...] = ()  # packages in which the classes of the model's layers are defined, 16 at most


class UnheldParameters(Measurement, frozen=True, kw_only=True):
    """Which of the parameters that a loss reaches no optimiser holds. Those that move all the same are not counted:
    something else updates them."""

    reached: int  # parameters that some loss so far reaches
    reached_weights: int  # elements of these
    unheld: int = 0  # parameters of these that no optimiser holds and that stand still
    unheld_weights: int = 0  # elements of these
    registered: int = 0  # of the unheld, those that a model lists among its parameters
    names: tuple[str, ...] = ()  # of the unheld, the first four
    head_only: bool = False  # all that the optimisers hold belongs to the last layer of the model
    built_at: str = ""  # file:line on which the optimisers were made, if it is one


class FrozenParameters(Measurement, frozen=True, kw_only=True):
    """Which weight matrices of linear, convolution, recurrent and attention layers have requires_grad=False. Only
    layers that run in training count, in models of which something is trained."""

    matrices: int  # parameters with two dimensions or more in these layers
    weights: int  # elements of these
    frozen_matrices: int = 0
    frozen_weights: int = 0
    names: tuple[str, ...] = ()  # of the frozen matrices, the first four
    peaks: tuple[float, float] | None = None  # smallest and largest max |w| of the frozen matrices, by 1/sqrt(fan-in)
    spreads: tuple[float, float] | None = None  # the same of their standard deviation, by that of uniform weights
    tables: tuple[str, ...] = ()  # frozen embeddings that run, 8 at most: see FrozenTable
    trainable: tuple[str, ...] = ()  # trainable parameters of the models, the first four
    trainable_parameters: int = 0  # number of all of them
    adapters: int = 0  # of these, those called lora, adapter, prefix or prompt


class FrozenTable(Measurement, frozen=True, kw_only=True):
    """The moments of an embedding with requires_grad=False, over a part of its rows without those of zeros. `where` is
    its name."""

    weights: int  # elements of the whole table
    rows: int  # looked at
    columns: int  # looked at
    kurtosis: float  # 3 of normal numbers, 1.8 of uniform ones
    length_variance: float  # from row to row, of the mean square of standardised numbers
    common: float  # mean square of the columns' means, of standardised numbers


class SilentParameters(Measurement, frozen=True, kw_only=True):
    """Trainable parameters that an optimiser holds, whose layers run, and that no gradient ever reached, or one of
    exactly zero only."""

    looks: int  # updates looked at closely at which each of the silent ones had none, at least
    parameters: int  # looked at
    weights: int  # elements of these
    matrices: int  # of these, those with two dimensions or more
    silent: tuple[int, int, int] = (0, 0, 0)  # parameters, elements and matrices in layers that run with gradients on
    names: tuple[str, ...] = ()  # of these, the first four
    muted: tuple[int, int, int] = (0, 0, 0)  # the same in layers that run in training with gradients off only
    muted_names: tuple[str, ...] = ()
    first_matrix: str = ""  # 'silent' or 'muted' where the first matrix of the model is one of them
    zero: int = 0  # silent parameters whose gradient is there and exactly zero
    stops: tuple[str, ...] = ()  # operations on the way to a loss that may let no gradient through


class OptimizerSettings(Measurement, frozen=True, kw_only=True):
    """The settings of the first group of an optimiser that say how long gradients are remembered."""

    optimizer: str  # its class
    momentum: float | None = None  # None where it was not set to a float
    dampening: float = 0.0
    nesterov: bool = False
    betas: tuple[float, ...] = ()  # of Adam and its kin


class RebuiltOptimizers(Measurement, frozen=True, kw_only=True):
    """How often an optimiser was constructed over parameters that another one with the same settings had updated, so
    that its state began anew. `where` is the line of the last time."""

    rebuilt: int  # times so far


class FirstScheduleStep(Measurement, frozen=True, kw_only=True):
    """The first call of scheduler.step() by the script. `where` is its line."""

    scheduler: str  # its class
    after_optimizer: bool  # its optimiser had made an update before
    skipped: int = 0  # updates that a gradient scaler had left out before


RATE_SHARES = (0.1, 0.01, 0.001, 0.0001)  # of its peak, by which the decay of a rate is measured


class ScheduleSteps(Measurement, frozen=True, kw_only=True):
    """How often a scheduler was stepped in the whole training, and what became of the learning rate. `where` is a
    setting of it."""

    scheduler: str  # its class
    steps: int  # of the scheduler
    updates: int  # of all optimisers since its first step
    all_updates: int  # in the whole training
    peak: float  # the largest learning rate at an update
    last: float  # learning rate of the last update
    last_above: tuple[int, ...]  # the update at which the rate was last above each of RATE_SHARES of its peak so far


class UnmovedElements(Measurement, frozen=True, kw_only=True):
    """The share of elements in half precision that have a gradient and that an update leaves exactly as they were."""

    dtype: str
    share: float  # median over the updates looked at
    looks: int  # updates looked at
    names: tuple[str, ...] = ()  # parameters looked at, the first four
    parameters: int = 0  # number of all of them


class WeightTypes(Measurement, frozen=True, kw_only=True):
    """The types of numbers in which the weights are kept, as met in the whole training."""

    dtypes: tuple[str, ...]


class InitialWeights(Measurement, frozen=True, kw_only=True):
    """How the elements of weight matrices are distributed before the first updates, on a sample of each."""

    kurtosis: tuple[float, ...]  # one a matrix: 1.8 of uniform numbers, 3 of normal ones, 0 where all are equal
    elements: tuple[int, ...]  # sampled of each


# --- phases, objectives, ranks ----------------------------------------------------------------------------------------


class TrainingEnd(Measurement, frozen=True, kw_only=True):
    """How the training ended, and how far the loss had come. Losses are means over the backward passes before one
    update."""

    updates: int  # of all optimisers
    cut_short: bool  # the recorder ended it, as with --steps, or an exception did
    first_loss: float | None = None
    last_loss: float | None = None
    losses: tuple[float, ...] = ()  # of the first updates, 50 at most


class SharedLosses(Measurement, frozen=True, kw_only=True):
    """How often a loss that updates one network goes through another one, with its own optimiser, that it does not
    update."""

    updated: int  # optimisers that have made an update
    used: tuple[int, ...]  # times so far, one for each network used so


class RankLayout(Measurement, frozen=True, kw_only=True):
    """How the model is spread over the ranks of a distributed training, and which parameters RankStep holds from this
    step on."""

    rank: int
    spread: str  # 'replicated', 'sharded', 'apart' (nothing seen that ties the models together) or 'other'
    names: tuple[str, ...] = ()  # parameters, 32 at most


class RankStep(Measurement, frozen=True, kw_only=True):
    """What the ranks of a distributed training can be compared by at one step: fingerprints of weights and data, and
    where the time went. All ranks write it at the same steps; it has every digit, since equal ones must be equal."""

    rank: int
    steps: int  # that were timed so far
    whole: float  # seconds from update to update, summed over these
    own: float  # seconds of these before the exchange of gradients
    waited: float  # seconds of these for data
    host: bool  # the model runs on the host, so that times of the host are times of the training
    sums: tuple[float, ...] = ()  # one a parameter: its first elements, weighted by place
    norms: tuple[float, ...] = ()  # one a parameter, of the same elements
    target: float | None = None  # fingerprint of the first targets of the batch
    loss: float | None = None


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
