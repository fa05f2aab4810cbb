"""Finds out which part of the data an evaluation is of: many scripts evaluate the training part too, to put the two
side by side.

It is known from the loader that gave out the batch, from a word such as `split = "train"` in the functions that are
running, or from the name of the tensor that the targets are cut from. None of it is looked for any more once the first
evaluations were of one part only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import torch

from traindx.live.events.instrument import Criterion
from traindx.live.events.places import outer, user_frame, variables

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

TRAINED_WORDS = frozenset(("train", "training", "trn", "tr"))
HELD_WORDS = frozenset(("val", "valid", "validation", "test", "testing", "dev", "eval", "heldout", "holdout"))
TRAINED_NAME = re.compile(r"train|(^|_)trn?(_|$)|^[a-z]trn?$", re.IGNORECASE)
HELD_NAME = re.compile(r"val|test|dev|held|hold|(^|_)va(_|$)|^[a-z](va|te)$", re.IGNORECASE)
_KIND = r"(s|set|sets|data|dataset|datasets|loader|loaders|dl|ds|iter|gen|x|y)?"
_TRAINED_PART = re.compile(rf"(^|_)[xy]?(train|training|trn|tr){_KIND}(_|\d|$)")
_HELD_PART = re.compile(rf"(^|_)[xy]?(val|valid|validation|va|test|tst|te|dev|held_?out|hold_?out|eval){_KIND}(_|\d|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MAX_FRAMES = 12  # of the user's functions that are looked at
MAX_VARIABLES = 200  # of each
MAX_PLAIN = 3  # of one part only, before nothing is looked for any more
Value = TypeVar("Value")


class Splits:
    """Keeps losses of training data apart from those of held-out data in one break between updates."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._plain = 0
        self._counted = -1  # the update after which the last evaluation was counted
        self._parted = False
        self._last: tuple[Criterion, bool] | None = None  # several observers ask for the same call

    def of_training(self, call: Criterion) -> bool:
        if self._plain >= MAX_PLAIN and not self._parted:
            return False
        if self._last is None or self._last[0] is not call:
            self._last = call, self._find_out(call)
        return self._last[1]

    def _find_out(self, call: Criterion) -> bool:
        """The cheapest first: names are asked only where neither a loader nor a word says what is evaluated."""
        if self._hub.evaluates_training_loader:
            return True
        word = _by_word()
        return _by_name(call.target) if word is None and not self._hub.evaluates_loader else bool(word)

    def held_out(self, found: Sequence[tuple[Value, bool]]) -> list[Value]:
        """What is not of the training data; all of it where nothing else was evaluated."""
        self._last = None
        parted = len({of_training for _, of_training in found}) > 1
        self._parted = self._parted or parted
        if self._hub.step != self._counted:  # several observers ask here too
            self._counted = self._hub.step
            self._plain += not parted
        return [value for value, of_training in found if not (parted and of_training)]


def frames() -> list[FrameType]:
    """The user's functions that are running, the innermost first."""
    found: list[FrameType] = []
    frame = user_frame()
    while frame is not None and len(found) < MAX_FRAMES:
        found.append(frame)
        frame = outer(frame)
    return found


def first_variables(frame: FrameType) -> list[tuple[str, Any]]:
    return list(islice(variables(frame).items(), MAX_VARIABLES))


def part_of_name(name: str) -> Literal["train", "held"] | None:
    """Which part of the data a variable is named after, in whole words; None where it names both or none."""
    words = _CAMEL.sub("_", name).lower()
    trained, held = _TRAINED_PART.search(words), _HELD_PART.search(words)
    return None if (trained is None) == (held is None) else "train" if trained else "held"


def _by_word() -> bool | None:
    """The innermost function with a word for a part of the data says which; None without one. Words of a whole module
    may be left from anything."""
    for frame in frames():
        if frame.f_code.co_name == "<module>":
            continue
        for _, value in first_variables(frame):
            word = value.lower() if type(value) is str and len(value) <= 10 else ""
            if word in TRAINED_WORDS or word in HELD_WORDS:
                return word in TRAINED_WORDS
    return None


def _by_name(target: torch.Tensor) -> bool:
    """Whether the targets lie in a tensor that is named after the training and in none that is named after something
    else."""
    trained = False
    for frame in frames():
        for name, value in first_variables(frame):
            if type(value) is torch.Tensor and _lies_in(target, value):
                if HELD_NAME.search(name):
                    return False
                trained = trained or TRAINED_NAME.search(name) is not None
    return trained


def _lies_in(part: torch.Tensor, whole: torch.Tensor) -> bool:
    if whole is part:
        return True
    same = (
        whole.device == part.device
        and whole.layout == part.layout == torch.strided
        and whole.numel() >= part.numel() > 0
    )
    return same and whole.data_ptr() <= part.data_ptr() < whole.data_ptr() + whole.nbytes
