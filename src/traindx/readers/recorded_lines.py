"""The lines of a recording, checked before anybody uses them: a recording may be damaged, or made by somebody else."""

from __future__ import annotations

import json
from typing import Any

import msgspec

LAST_STEP = 1e15  # no training counts as far
DEEPEST = 20  # of settings and readings inside each other


class _Meta(msgspec.Struct):
    """What was run."""

    argv: list[str] | None = None
    world: int | None = None
    rank: int | None = None
    pid: int | None = None
    started: float | None = None
    host: str | None = None


class _Names(msgspec.Struct):
    """A list of names that rows refer to."""

    of: int
    names: list[str]


class _Fact(msgspec.Struct):
    """Something seen directly."""

    id: str
    present: bool
    evidence: str
    where: str | None = None
    step: float | None = None
    clarity: float = 1.0
    probe: str | None = None


class _Probed(msgspec.Struct):
    """What one probe measured, a line of a measurement each."""

    probe: str
    measured: list[dict[str, Any]]


class _Event(msgspec.Struct):
    """A traceback, a kill."""

    event: str
    text: str = ""
    step: float | None = None


class _Printed(msgspec.Struct):
    """A line that the training printed, and after how many updates."""

    text: str
    step: float


class _Cost(msgspec.Struct):
    """What recording has cost so far."""

    share: float | None = None


class _Dropped(msgspec.Struct):
    """Lines that a full disk has cost."""

    lines: int


_SHAPES: dict[str, type[msgspec.Struct]] = {
    "meta": _Meta, "names": _Names, "fact": _Fact, "event": _Event, "printed": _Printed, "cost": _Cost,
    "dropped": _Dropped, "probed": _Probed,
}  # fmt: skip


def checked_line(text: str) -> dict[str, Any]:
    """The entry in a line, whose fields are of the kinds that they are read as. A ValueError where it is damaged."""
    try:
        entry = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("k"), str):
        raise ValueError("no entry of a recording")
    if _depth(entry) > DEEPEST:
        raise ValueError("nested too deeply")
    shape = _SHAPES.get(entry["k"])
    if shape is not None:
        try:
            msgspec.convert(entry, shape)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
    step = entry.get("step")
    # a comparison, since a whole number may be too large for a float; NaN is less than nothing
    if step is not None and not (isinstance(step, int | float) and -LAST_STEP < step < LAST_STEP):
        raise ValueError("a step that is no count")
    return entry


def _depth(value: Any) -> int:
    """How deeply lists and mappings lie inside each other, as far as it matters."""
    deepest = 0
    waiting = [(value, 0)]
    while waiting and deepest <= DEEPEST:
        one, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(one, dict | list):
            waiting.extend((inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one))
    return deepest
