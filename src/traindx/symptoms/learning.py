"""What the symptoms of parameters that do not learn have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from traindx.measurements import LoadedWeights, Measured, TrainingEnd

# Libraries whose models come with trained weights, loaded in ways of their own.
PRETRAINED = frozenset({"transformers", "timm", "peft", "open_clip", "sentence_transformers"})

Look = TypeVar("Look")


def since(looks: Sequence[Look], holds: Callable[[Look], bool]) -> Look:
    """The look from which on it holds, to the last one: what was taken back in between counts from there."""
    first = looks[-1]
    for look in reversed(looks):
        if not holds(look):
            break
        first = look
    return first


def pretrained(measured: Measured) -> bool:
    """Weights were loaded, or the model is of a library that loads them in its own way."""
    return from_library(measured) or loaded(measured)


def loaded(measured: Measured) -> bool:
    """The script loaded weights. What is loaded after the last update, as early stopping brings its best weights back,
    trained nothing."""
    end = measured.last(TrainingEnd)
    return any(one.loaded and (end is None or one.step < end.updates) for one in measured.all(LoadedWeights))


def from_library(measured: Measured) -> bool:
    """The model is of a library that loads weights in its own way."""
    return any(PRETRAINED.intersection(one.libraries) for one in measured.all(LoadedWeights))


def listed(names: Sequence[str], count: int) -> str:
    """The first names of so many, for a sentence."""
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")
