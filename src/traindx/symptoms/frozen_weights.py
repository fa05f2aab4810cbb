"""frozen-weights: weights of a model made from scratch are frozen."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import (
    AdapterPairs,
    FrozenParameters,
    FrozenTable,
    LoadedWeights,
    Measured,
    MissedWeights,
    TrainingEnd,
)
from traindx.symptoms.adapter_inactive import SOUND, all_frozen
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.learning import from_library, listed, loaded, since
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "frozen-weights"
SHARE = fitted(f"{ID}.share", 0.5, unit="of the weights in layers", strong=0.9)
RANDOM_SHARE = fitted(f"{ID}.random-share", 0.15, unit="of the weights in layers, where these are random still")
CLEAR, RANDOM_CLEAR, PART_CLEAR = 0.7, 0.9, 0.65  # clarity of the first, with random weights, and of the second
LOWEST_PEAK = fitted(f"{ID}.lowest-peak", 0.9, unit="of 1/sqrt(fan-in), the largest of uniform initial weights")
HIGHEST_PEAK = Threshold(
    1.001,
    "of 1/sqrt(fan-in)",
    "torch draws the weights of its layers from ±1/sqrt(fan-in); the rest is rounding",
    side="below",
)
UNIFORM = fitted(f"{ID}.uniform", 0.15, unit="off the standard deviation of uniform weights", side="below")
SIGMAS = Threshold(
    4.0, "standard errors", "one random table in ten thousand has a moment further off than that", side="below"
)
NORMAL_KURTOSIS, UNIFORM_KURTOSIS = 3.0, 1.8
LONGER = 1.5  # the lengths of rows may scatter this much more than they may scatter less


@dataclass(frozen=True)
class _Frozen:
    """A look with the frozen embeddings that hold random numbers counted in; others say nothing."""

    look: FrozenParameters
    share: float  # of the weights
    of_matrices: float
    random: bool  # all that is frozen is as torch initialises it
    names: tuple[str, ...]
    count: int

    @property
    def random_tables(self) -> bool:
        return self.count > self.look.frozen_matrices

    @property
    def effective(self) -> float:
        """Early layers have few weights and matter all the same, if they are random."""
        return max(self.share, self.of_matrices) if self.random else self.share

    @property
    def much(self) -> bool:
        return SHARE.reached(self.effective) or (self.random and RANDOM_SHARE.reached(self.share))


def judge(measured: Measured) -> Observation | None:
    adapters = measured.last(AdapterPairs)
    if adapters is not None and all_frozen(adapters):
        text = (
            f"The model has {adapters.pairs} adapter pairs ({adapters.where} is the first) beside frozen matrices, and "
            "all of them have requires_grad=False."
        )
        return seen(ID, True, text, at=adapters, where=adapters.where)
    tables = {one.where: one for one in measured.all(FrozenTable)}
    looks = [frozen for look in measured.all(FrozenParameters) if (frozen := _count(look, tables)) is not None]
    if not looks:
        return None
    # a library loads in its own way, unless its embeddings are numbers without any order: then it has loaded nothing
    library = from_library(measured) and not any(frozen.random_tables for frozen in looks)
    fine_tuned = library or loaded(measured)
    suspects = [_missed(frozen) for frozen in looks] if fine_tuned else looks

    def is_fault(frozen: _Frozen) -> bool:
        return frozen.much and not library and not frozen.look.adapters

    last = suspects[-1]
    present = is_fault(last)
    at = since(suspects, lambda frozen: is_fault(frozen) is present).look
    if not present:
        why = " (weights were loaded: fine-tuning)" if looks[-1].much else ""
        return seen(ID, False, f"{looks[-1].effective * 100:.0f} % of the weights in layers are frozen{why}.", at=at)
    call = last.look.missed.call if fine_tuned and last.look.missed is not None else ""
    why = f"load_state_dict ({call}) loaded nothing for them" if fine_tuned else "No checkpoint was loaded"
    percent = f"{last.share * 100:.0f} %"
    share = "All layer weights have" if percent == "100 %" else f"{percent} of the layer weights have"
    return seen(
        ID,
        True,
        f"{share} requires_grad=False ({listed(last.names, last.count)}). "
        f"{why}, so they stay at their random initialisation. "
        f"Trainable: {listed(last.look.trainable, last.look.trainable_parameters)}.",
        at=at,
        where=call or last.names[0],
        clarity=_clarity(last),
    )


def _missed(frozen: _Frozen) -> _Frozen:
    """What counts where weights were loaded: those that were not among them and are as torch initialises them."""
    look, missed = frozen.look, frozen.look.missed
    if missed is None or not _is_initial(missed.peaks, missed.spreads):
        return _Frozen(look, share=0.0, of_matrices=0.0, random=False, names=(), count=0)
    return _Frozen(
        look,
        share=missed.weights / max(look.weights, 1),
        of_matrices=missed.matrices / max(look.matrices, 1),
        random=True,
        names=missed.names,
        count=missed.matrices,
    )


def _clarity(frozen: _Frozen) -> float:
    if not SHARE.reached(frozen.effective):
        return PART_CLEAR
    return max(RANDOM_CLEAR if frozen.random else CLEAR, SHARE.clarity(frozen.effective))


def _count(look: FrozenParameters, tables: dict[str, FrozenTable]) -> _Frozen | None:
    random = [name for name in look.tables if name in tables and SIGMAS.reached(_sigmas_from_noise(tables[name]))]
    of_tables = sum(tables[name].weights for name in random)
    total = look.weights + of_tables
    if not total:
        return None
    count = look.frozen_matrices + len(random)
    return _Frozen(
        look=look,
        share=(look.frozen_weights + of_tables) / total,
        of_matrices=count / (look.matrices + len(random)),
        random=_is_initial(look.peaks, look.spreads),
        names=(*random, *look.names)[: max(len(look.names), 4)],
        count=count,
    )


def _is_initial(peaks: tuple[float, float] | None, spreads: tuple[float, float] | None) -> bool:
    """Whether all matrices are uniform up to the limit of torch's default initialisation: training leaves none so."""
    if peaks is None or spreads is None:
        return True
    within = LOWEST_PEAK.reached(peaks[0]) and HIGHEST_PEAK.reached(peaks[1])
    return within and UNIFORM.reached(max(1 - spreads[0], spreads[1] - 1))


def _sigmas_from_noise(table: FrozenTable) -> float:
    """How far a table is from normal or uniform numbers without any order, as a new embedding has them, by the moment
    that is furthest off."""
    like = min((NORMAL_KURTOSIS, UNIFORM_KURTOSIS), key=lambda kurtosis: abs(kurtosis - table.kurtosis))
    elements = table.rows * table.columns
    error = math.sqrt(24 / elements) if like == NORMAL_KURTOSIS else 2.4 / math.sqrt(elements)
    lengths = (table.length_variance * table.columns / (like - 1) - 1) / math.sqrt(2 / table.rows)
    common = (table.common * table.rows - 1) / math.sqrt(2 / table.columns)
    return max(abs(table.kurtosis - like) / error, lengths / LONGER, -lengths, common)


UNFROZEN = FrozenParameters(matrices=3, weights=432)
FROZEN = FrozenParameters(
    matrices=3,
    weights=432,
    frozen_matrices=3,
    frozen_weights=432,
    names=("0.weight", "2.weight", "4.weight"),
    peaks=(0.99, 1.0),
    spreads=(0.97, 1.02),
    trainable=("4.bias",),
    trainable_parameters=1,
)
MISSED = MissedWeights(3, 432, FROZEN.names, (0.99, 1.0), (0.97, 1.02), "train.py:12")
NOT_FOUND = replace(FROZEN, missed=MISSED)
PART = FrozenParameters(
    matrices=12,
    weights=1000,
    frozen_matrices=1,
    frozen_weights=160,
    names=("0.weight",),
    peaks=(0.99, 0.99),
    spreads=(1.01, 1.01),
    trainable=("2.weight",),
    trainable_parameters=11,
)
EMBEDDED = FrozenParameters(matrices=1, weights=24, tables=("table.weight",), trainable=("head.weight",))
NEW_TABLE = FrozenTable(
    weights=960, rows=119, columns=8, kurtosis=3.05, length_variance=0.26, common=0.0081, where="table.weight"
)
LEARNT_TABLE = FrozenTable(
    weights=960, rows=119, columns=8, kurtosis=3.9, length_variance=0.9, common=0.2, where="table.weight"
)

SYMPTOM = Symptom(
    id=ID,
    title="random weights are frozen",
    severity="problem",
    family="frozen",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Weights of layers have requires_grad=False although no trained weights were loaded: they stay as random as they began.
Or all adapters of a model have.

## How it is measured
The weights of linear, convolution, recurrent and attention layers that run in training, by number, and frozen
embeddings that hold plain noise. Loading a state dict or a checkpoint, adapters, and libraries that bring trained
weights are taken as fine-tuning, except for matrices that a state dict given to their model did not bring
(`strict=False` and other names) and that still have torch's initial numbers. Models that are not trained at all
(teachers, copies) do not count, nor do weights that were trained before they were frozen. Present from half of the
weights on, plain from 90 %. Where all that is frozen still has the numbers that torch initialises layers with (uniform
up to one by the square root of the fan-in), 15 % of the weights or half of the matrices are enough. The last look
counts: what is unfrozen later is no fault. Low-rank pairs beside frozen matrices (LoRA and its kin) are present where
none of them has a gradient and they are neither merged, switched off nor loaded for inference.

## Healthy range
A frozen backbone with trained weights under a new head. Fixed random features are rare and made on purpose.

## What it usually means
The freezing loop of a fine-tuning recipe in a training from scratch, a name filter that is the wrong way round, or
weights that should have been loaded and were not.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("all but one bias", "present", measured=(FROZEN,)),
        Case("adapters frozen with their base", "present", measured=(replace(SOUND, trainable=0),)),
        Case("adapters that learn", "unknown", measured=(SOUND,)),
        Case("the first of twelve layers, random still", "present", measured=(PART,)),
        Case("a little less", "absent", measured=(replace(PART, frozen_weights=140),)),
        Case("the first layer, trained elsewhere", "absent", measured=(replace(PART, peaks=(2.4, 2.4)),)),
        Case("a new embedding", "present", measured=(NEW_TABLE, EMBEDDED)),
        Case("word vectors learnt elsewhere", "absent", measured=(LEARNT_TABLE, EMBEDDED)),
        Case("fine-tuning", "absent", measured=(LoadedWeights(loaded=True), FROZEN)),
        Case(
            "the best weights are loaded again at the end",
            "present",
            measured=(FROZEN, LoadedWeights(loaded=True, step=240), TrainingEnd(updates=240, cut_short=False)),
        ),
        Case("loaded, but none of these", "present", measured=(LoadedWeights(loaded=True), NOT_FOUND)),
        Case(
            "one small layer not loaded",
            "absent",
            measured=(LoadedWeights(loaded=True), replace(FROZEN, missed=MISSED._replace(matrices=1, weights=40))),
        ),
        Case(
            "brought in another way",
            "absent",
            measured=(LoadedWeights(loaded=True), replace(FROZEN, missed=MISSED._replace(peaks=(2.1, 3.0)))),
        ),
        Case(
            "brought by a library",
            "absent",
            measured=(LoadedWeights(loaded=True, libraries=("transformers", "torch")), NOT_FOUND),
        ),
        Case(
            "a model of a library",
            "absent",
            measured=(LoadedWeights(loaded=False, libraries=("timm", "torch")), FROZEN),
        ),
        Case(
            "made by a library, with embeddings that learnt nothing",
            "present",
            measured=(
                LoadedWeights(loaded=False, libraries=("transformers",)),
                replace(FROZEN, tables=("table.weight",)),
                NEW_TABLE,
            ),
        ),
        Case(
            "loaded by a library, with embeddings that learnt something",
            "absent",
            measured=(
                LoadedWeights(loaded=False, libraries=("transformers",)),
                replace(FROZEN, tables=("table.weight",)),
                LEARNT_TABLE,
            ),
        ),
        Case("adapters", "absent", measured=(replace(FROZEN, adapters=2),)),
        Case("frozen at first only", "absent", measured=(FROZEN, replace(UNFROZEN, step=8))),
        Case("nothing is frozen", "absent", measured=(UNFROZEN,)),
        Case("a log alone", "unknown"),
    ),
)
