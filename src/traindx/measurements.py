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


class InputScales(Measurement, frozen=True, kw_only=True):
    """Mean and standard deviation of whole input batches of one model, in training and with gradients off between
    updates. `where` is the model."""

    train_means: tuple[float, ...]  # one a batch, of the first ones
    train_deviations: tuple[float, ...]
    held_means: tuple[float, ...]  # the same of evaluation
    held_deviations: tuple[float, ...]
    train_width: int  # length of the last dimension of an input
    held_width: int


class TakenFor(Measurement, frozen=True, kw_only=True):
    """For which class the samples of each label are taken most often: in the last training batches, older ones counting
    less and less, and in one evaluation. Of many classes some, evenly spaced."""

    classes: int  # of the loss
    labels: tuple[int, ...]  # those that the following fields speak of, in the same order
    train_as: tuple[int, ...]  # the class that most samples of the label are taken for; -1 where it does not occur
    train_shares: tuple[float, ...]  # the share of its samples that are taken for it
    train_counts: tuple[float, ...]  # samples of the label
    held_as: tuple[int, ...]  # the same three of the evaluation
    held_shares: tuple[float, ...]
    held_counts: tuple[float, ...]
    train_accuracy: float  # share of all samples that are recognised
    held_accuracy: float
    held_samples: int


class FrequentClass(Measurement, frozen=True, kw_only=True):
    """The class that most of the last training labels have, and what becomes of the others in an evaluation."""

    top: int  # that class
    top_share: float  # of the training labels
    least_share: float  # the smallest share that the most frequent class had at any evaluation so far
    median_share: float  # the median share of the other classes
    labels: float  # in training; older ones count less and less
    held_share: float  # of the class, of the labels of the evaluation
    held_labels: int
    others: int  # samples of other classes in the evaluation
    taken: tuple[float, ...]  # the share of those that is taken for the class, in each of the last evaluations
    unrecognised: tuple[float, ...]  # the share of those that is taken for any wrong class, in each of them


class RareClasses(Measurement, frozen=True, kw_only=True):
    """The classes that occur at most a tenth as often as the most frequent one in training, beside an evaluation. Only
    where a sample has one label and all labels count alike."""

    classes: int  # of the loss
    batches: int  # of training that were counted
    labels: int  # in them
    most: int  # labels of the most frequent class
    fewest: int  # labels of the rarest that occurs in training or in the evaluation
    rare: tuple[int, ...]  # rare classes that occur, the first few
    rare_classes: int  # how many there are
    rare_labels: int  # of all of them
    disorder: float  # standard deviations that their count varies more from batch to batch than in a random order
    held_batches: int  # of the evaluation
    held_labels: int
    held_most: int  # labels of its own most frequent class
    held_disorder: float  # as above
    complete: bool  # all samples of the evaluation were counted
    held_rare: int  # samples of the rare classes in it
    held_rare_right: int  # recognised
    held_frequent: int  # samples of classes that are not rare
    held_frequent_right: int
    # standard errors by which fewer of the rare ones are recognised, in each of the last evaluations
    worse: tuple[float, ...]


class ClassPredictions(Measurement, frozen=True, kw_only=True):
    """Targets and predicted classes of one loss in training, at some of its calls. `where` is the line of the call."""

    criterion: str  # its name
    classes: int  # of the loss
    weighted: bool  # classes have weights in it
    looks: int  # calls that were counted
    targets: int  # of all of them
    occurring: int  # classes among those
    most: int  # targets of the most frequent class
    fewest: int  # targets of the rarest that occurs
    last_looks: int  # the last of those calls that the following fields speak of
    mixed_looks: int  # of them, with more than one class among their targets
    since: int  # updates before the first of them
    predictions: int  # in them
    predicted: int  # classes among those
    top: int  # the class that is predicted most often
    top_targets: int  # targets of that class in all calls
    sites: int  # lines that call a classification loss
    optimizers: int  # that have made an update


class OutputSpread(Measurement, frozen=True, kw_only=True):
    """How far the outputs of a regression differ between the samples of a batch, beside its targets, in the last looks.
    `where` is the line of the loss."""

    criterion: str  # its name
    looks: int  # the last ones, of which this speaks
    since: int  # updates before the first of them
    largest: float  # the largest ratio of the standard deviation of the outputs to that of the targets
    optimizers: int  # that have made an update


class RegressionTargets(Measurement, frozen=True, kw_only=True):
    """What a regression is trained on."""

    losses: tuple[str, ...]  # regression losses
    other_losses: int  # loss functions of other kinds that are trained on
    alone: bool  # `backward` was called on nothing but such a loss, or a multiple of it
    fractional: tuple[float, ...]  # share of the first targets that are distinct broken numbers, one a line of a loss


class PaddedTargets(Measurement, frozen=True, kw_only=True):
    """Runs of one target at the ends of sequences, and whether they count in the loss. `where` is its line."""

    criterion: str  # name of the loss
    share: float  # of all targets that are in such runs
    rows: float  # share of the sequences that end in two of them or more
    uneven: bool  # the runs have different lengths
    filled: float  # share of the input tokens in runs of one token at the ends of the sequences
    token: int  # the target
    ignore_index: int
    weight: float  # of that target in the loss


class StrongestDropout(Measurement, frozen=True, kw_only=True):
    """The highest dropout rate of a model. `where` is the layer; none where dropout is called as a function."""

    rate: float  # share of the inputs that are dropped
    is_layer: bool  # else the rate was read off the graph


class DroppedInEvaluation(Measurement, frozen=True, kw_only=True):
    """Dropout that acted in a layer in eval mode, with gradients off. `where` is the model."""

    evaluations: int  # losses so far that were computed without gradients after that
    repeated: bool  # one batch was answered several times in a row


class UpdateModes(Measurement, frozen=True, kw_only=True):
    """The mode of a model that acts differently in training and evaluation, at its updates. `where` is the model."""

    updates: int  # so far
    in_eval: int  # with the model and all its dropout and batch-norm layers in eval mode
    first_in_eval: int  # the first such update, counted from 1; 0 for none
    dropouts: int  # layers of each kind
    batchnorms: int


class EvaluationModes(Measurement, frozen=True, kw_only=True):
    """The mode of such a model when it was called with gradients off, between two updates. `where` is the model. Calls
    on the batch just trained on do not count."""

    in_eval: int  # calls in eval mode so far
    in_train: int  # calls in train mode so far, between updates with a loss computed there, or of the only model
    breaks: int  # such breaks with calls in train mode
    most_with_loss: int  # calls in train mode in one break in which a loss was computed, at most
    dropouts: int  # layers of each kind
    batchnorms: int


class ErrorReach(Measurement, frozen=True, kw_only=True):
    """Parameters that the error of a model reaches that rebuilds its input under a penalty, and those that only the
    penalty reaches. `where` is the line of the error."""

    criterion: str  # the loss function that gives the error
    reached: tuple[str, ...]  # parameters, the first few
    missed: tuple[str, ...]
    missed_count: int  # how many are missed
    missed_entry: str  # one of them that takes in the data, if any
    in_a_row: int  # the last looks, in a row, at which it misses one that takes in the data and reaches others


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
