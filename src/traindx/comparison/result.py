"""What a comparison says. Frozen; `to_json` gives the schema `traindx.comparison/1` (docs/compare.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal

from traindx.comparison.settings import Value
from traindx.diagnosis import Verdict

SCHEMA = "traindx.comparison/1"
Alignment = Literal["step", "epoch", "progress", "time", "row"]
Explained = Literal["explains", "no effect seen", "confounded", "cannot tell"]
Effect = Literal["helped", "no difference", "worse", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Level:
    """A value with its standard error; NaN where unknown."""

    value: float
    error: float = math.nan


@dataclass(frozen=True, slots=True)
class Row:
    """One run among the others. `reached` is where it first met the common target (None: never); `at_common` its level
    where the shortest run ends; `rank` counts from 1, None where the run lacks the metric."""

    source: str
    name: str
    format: str
    settings: Mapping[str, Value]
    seed: Value | None
    group: int
    rank: int | None
    length: float
    best: Level
    best_at: float
    final: Level
    at_common: float
    reached: float | None
    wobble: float
    broke: bool
    verdict: Verdict
    cause: str
    confidence: float
    problems: tuple[str, ...]
    curve: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def label(self) -> str:
        return f"{self.source} ({self.name})" if self.name else self.source


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that differ in their seed alone: the mean of what they reached and the half-width of its 95 % interval."""

    settings: Mapping[str, Value]
    runs: tuple[int, ...]
    mean: float
    interval: float
    spread: float  # standard deviation between seeds
    unhealthy: int


@dataclass(frozen=True, slots=True)
class LevelOfSetting:
    """What runs with one value of a setting reached."""

    value: Value
    mean: float
    interval: float
    runs: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """How far one setting explains what the runs reached: `share` of what the other settings leave open, `p` corrected
    for the number of settings asked about (Holm)."""

    setting: str
    verdict: Explained
    why: str
    share: float
    p: float
    design: Literal["controlled", "random", "none"]
    levels: tuple[LevelOfSetting, ...]
    best: Value | None
    confounded_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Descent:
    """A second descent: what was reached falls, rises and falls below its first best as the setting grows."""

    over: str
    first_best: tuple[float, float]
    hump: tuple[float, float]
    second_best: tuple[float, float]
    sentence: str


@dataclass(frozen=True, slots=True)
class Versus:
    """Before and after: the change of the metric with its 95 % interval (positive: better), what became of the
    symptoms, and what was changed."""

    verdict: Effect
    why: str
    before: float
    after: float
    improvement: float
    interval: float
    relative: float  # the improvement as a share of the value before
    seeds: tuple[int, int]
    changed: Mapping[str, tuple[Value, Value]]
    cleared: tuple[str, ...]
    new: tuple[str, ...]
    still: tuple[str, ...]
    not_measured: tuple[str, ...]
    health: tuple[Verdict, Verdict]
    ends: tuple[float, float]  # final levels before and after
    speed: float | None  # how many times sooner the common target was reached
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole page. Reporters show it and compute nothing of their own."""

    version: str
    metric: str
    role: str
    goal: Literal["min", "max"]
    outcome: Literal["best", "final"]
    alignment: Alignment
    alignment_why: str
    common_end: float
    target: float
    rows: tuple[Row, ...]  # in the order they were found
    differing: tuple[str, ...]
    same_settings: int
    groups: tuple[Group, ...]
    explanations: tuple[Explanation, ...]
    descents: tuple[Descent, ...]
    versus: Versus | None
    unreadable: tuple[str, ...]
    notes: tuple[str, ...]

    def ranked(self) -> list[Row]:
        """Best first; runs that lack the metric last."""
        return sorted(self.rows, key=lambda row: (row.rank is None, row.rank or 0))

    def to_json(self) -> dict[str, Any]:
        whole = _plain(self)
        return {"schema": SCHEMA, "traindx": whole.pop("version"), **whole}


def _plain(value: Any) -> Any:
    """Builtins for JSON, which has neither NaN nor Inf: both become null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value
