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


class TargetValues(Measurement, frozen=True, kw_only=True):
    """The targets of a loss for two classes, over the calls looked at so far. `where` is the line of the call."""

    criterion: str  # name of the function; "margin" for clamp(1 - label * score, min=0) that is written out
    low: float  # smallest target
    high: float  # largest
    between: int  # targets that are neither the smallest nor the largest of their call
    zeros: int  # targets that are 0
    ones: int  # targets that are 1
    count: int  # targets


class TargetRowSums(Measurement, frozen=True, kw_only=True):
    """Targets of cross-entropy that are given as probabilities, in one call. `where` is its line."""

    sums: tuple[float, ...]  # of the rows of targets, in ascending order; evenly chosen where there are many


class TokensAsTargets(Measurement, frozen=True, kw_only=True):
    """Targets of a classification beside the tokens that embeddings of as many tokens were given, in one call. `where`
    is its line. Each tuple has one number for each of those inputs."""

    criterion: str  # name of the function
    look: int  # counts the calls from this line on steps that are looked at closely
    same: tuple[float, ...]  # share of the targets that equal the token at their position
    next: tuple[float, ...]  # ... the token after it
    second: tuple[float, ...]  # ... the token two positions ahead
    repeated: tuple[float, ...]  # share of the tokens that equal the one before them
    counted: tuple[float, ...]  # share of the targets that are not ignore_index


class NumbersAsTargets(Measurement, frozen=True, kw_only=True):
    """Targets of a regression beside the numbers that the model was given, in one call. `where` is its line."""

    criterion: str  # name of the function
    look: int  # counts the calls from this line on steps that are looked at closely
    column: int  # the number of its input that every target equals; -1 where there is none
    width: int  # numbers of one input
    rows: int  # samples
    distinct: float  # share of the targets that differ from those before


class LabelRelation(Measurement, frozen=True, kw_only=True):
    """How well the labels of samples follow from their inputs, in the training data and in the evaluation data, as told
    by the nearest neighbours or the words of a sample. Scores are accuracies, or correlations where labels are numbers
    or several."""

    samples: int  # of the training data
    labels: str  # "class" or "number" where a sample has one, else "several"
    columns: int  # labels of one sample that vary
    tokens: bool  # inputs are tokens
    ended: bool  # measured at the end of the training
    score: float  # in the training data
    deviations: float  # of that score from chance, in standard deviations
    expected: float  # what it would be, had the training data the score of the evaluation data
    held_score: float  # in the evaluation data
    held_chance: float  # the score of chance there
    held_deviations: float  # of that score from chance, in standard deviations
    model: float | None = None  # score of the model's own answers in the last evaluation; None where there are none


class FreshSamples(Measurement, frozen=True, kw_only=True):
    """How well training labels follow from their inputs, and the training loss on samples that were new, beside that of
    a guess. Taken at the end of the training."""

    samples: int  # whose labels were looked at
    tokens: bool  # inputs are tokens
    frequent: float  # share of the most frequent label
    deviations: float  # of what neighbours or a regression tell of the labels from chance, in standard deviations
    chance: float  # loss of the best answer that looks at no input
    fresh: float  # mean loss of samples that were seen for the first time
    last: float  # mean loss of the last updates


class FirstBatches(Measurement, frozen=True, kw_only=True):
    """Inputs of the first training batches that were looked at: samples that repeat, features that never change."""

    repeated: tuple[float, ...]  # share of the samples that equal another one before them in their batch, one a batch
    distinct: tuple[int, ...]  # different numbers in the first sample, one a batch
    rows: int = 0  # samples of a table whose features were compared; 0 where the inputs are none
    features: int = 0  # of that table
    constant: int = 0  # features with one value in all of those samples
    constant_first: tuple[int, ...] = ()  # numbers of the first of them


class PassesOverData(Measurement, frozen=True, kw_only=True):
    """Passes over the training data and the loss over the first updates. Taken at the end of a training that was not
    cut short."""

    batches: int  # updates of one pass
    samples: int  # of the data
    updates: int
    first_loss: float
    last_loss: float  # of the first updates
    thirds: tuple[float, ...] = ()  # mean loss of each third of those updates, where there are enough


class SampleExtremes(Measurement, frozen=True, kw_only=True):
    """The training batch in which one sample stands out most so far."""

    update: int  # whose batch it was, counted from 1
    largest: float  # largest absolute input value of any sample
    median: float  # median over the samples of their largest absolute value


class LossJump(Measurement, frozen=True, kw_only=True):
    """A loss far above those before it, and the samples of its batch with the largest values. `where` is the file that
    the batch is kept in."""

    update: int  # counted from 1
    loss: float
    usual: float  # median of the losses before
    largest: tuple[float, ...] = ()  # largest absolute values of single samples, in descending order
    rows: tuple[int, ...] = ()  # places of those samples in the batch
    samples: tuple[int, ...] = ()  # their numbers in the data set, where known
    median: float = 0.0  # over all samples of the batch, of their largest absolute value
    beyond_quarter: float = 0.0  # largest absolute value of the first sample below the top quarter
    count: int = 0  # samples


class FeatureTail(Measurement, frozen=True, kw_only=True):
    """The farthest values of a numeric input feature in the training samples looked at, taken at the end."""

    feature: int  # counted from 0
    rows: int  # samples
    median: float
    spread: float  # median distance of a value from the median
    farthest: float  # the value with the largest distance
    distances: tuple[float, ...]  # the largest distances from the median, in units of `spread`, in descending order


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
