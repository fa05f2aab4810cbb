"""A score that a script prints before and after its training: `solved before 0.40 after 0.65`, `accuracy 0.31 -> 0.84`,
or `baseline accuracy: 0.31` and, many updates later, `final accuracy: 0.84`. Each is one series of two values."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from traindx.meaning import meaning_of, tokens_of
from traindx.run import Series

BEFORE = frozenset({"before", "initial", "initially", "baseline", "untrained", "pretrained", "start"})
AFTER = frozenset({"after", "final", "finally", "trained", "finetuned", "tuned", "end"})
_MOMENTS = BEFORE | AFTER | {"training", "train", "fine", "tuning", "finetuning", "the", "model"}
_NUMBER = r"(-?\d+(?:\.\d+)?)\s*%?"
_SAID = r"(?:\s+\w+)?\s*[:=]?\s*"  # 'before training: '
_NAME = r"(?<![\w/])([A-Za-z][\w @/()-]{1,40}?)"
_ALONE = re.compile(rf"{_NAME}\s*[:=]?\s*{_NUMBER}", re.IGNORECASE)
_IN_A_LINE = (
    re.compile(rf"{_NAME}[\s:=(]+before{_SAID}{_NUMBER}\s*[,;|/]?\s*(?:and\s+)?after{_SAID}{_NUMBER}", re.IGNORECASE),
    re.compile(rf"{_NAME}\s*[:=]?\s*{_NUMBER}\s*(?:-+>|=>|→)\s*{_NUMBER}"),
)


def before_and_after(lines: Sequence[tuple[float, str]]) -> list[Series]:
    """The scores in these lines, given with the updates made before each. What is printed so more than once is a
    course of its own."""
    found: dict[str, list[Series]] = {}
    for step, text in lines:
        for pattern in _IN_A_LINE:
            for name, first, last in pattern.findall(text) if step > 0 else ():
                one = _pair(name.strip(), 0.0, float(first), step, float(last))
                found.setdefault(one.name.lower(), []).append(one)
    for one in _of_two_lines(lines):
        found.setdefault(one.name.lower(), [one])
    return [group[0] for group in found.values() if len(group) == 1 and group[0].meaning.kind == "score"]


def of_one_moment(one: Series) -> bool:
    """Whether its name says that it was measured before the training, or after it."""
    return bool(set(tokens_of(one.name)) & (BEFORE | AFTER))


def _of_two_lines(lines: Sequence[tuple[float, str]]) -> list[Series]:
    early: dict[str, tuple[float, float]] = {}
    late: dict[str, tuple[float, float]] = {}
    for step, text in lines:
        said = _ALONE.fullmatch(text.strip())
        words = tokens_of(said.group(1)) if said is not None else []
        rest = " ".join(word for word in words if word not in _MOMENTS)
        if said is None or meaning_of(rest).kind != "score":
            continue
        if set(words) & BEFORE:
            early.setdefault(rest, (step, float(said.group(2))))
        elif set(words) & AFTER:
            late[rest] = (step, float(said.group(2)))
    return [_pair(name, *early[name], *late[name]) for name in early if name in late and early[name][0] < late[name][0]]


def _pair(name: str, start: float, first: float, end: float, last: float) -> Series:
    return Series(name, meaning_of(name), np.array([start, end]), np.array([first, last]), "step")
