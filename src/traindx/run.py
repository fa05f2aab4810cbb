"""Run: all evidence of one training, whatever it came from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from traindx.errors import TraindxError
from traindx.meaning import Kind, Meaning
from traindx.measurements import Measured

Floats = NDArray[np.float64]
Axis = Literal["step", "epoch", "row"]
PROBES = "recording.probes"  # the setting that names the probes this run went through
EventKind = Literal[
    "traceback", "oom", "killed", "restart", "finished", "early-stop", "warning", "dataloader", "complaint"
]  # fmt: skip
CRASHES: tuple[EventKind, ...] = ("traceback", "oom", "killed", "dataloader", "complaint")
ENDS: tuple[EventKind, ...] = ("finished", "early-stop")  # as the training itself announces them


@dataclass(frozen=True, slots=True)
class Series:
    """One logged quantity over time, ordered by step; values may hold NaN and Inf exactly where the log did."""

    name: str
    meaning: Meaning
    steps: Floats
    values: Floats
    axis: Axis = "step"
    times: Floats | None = None  # wall seconds since the epoch or since the start, where the log has them

    def __len__(self) -> int:
        return len(self.values)

    @property
    def last(self) -> float:
        """The last step."""
        return float(self.steps[-1])


class LateSeries(Series):
    """A series whose numbers are fetched when they are first looked at; how many there are is known before."""

    __slots__ = ("_count", "_fetch", "_last")
    _count: int
    _last: float
    _fetch: Callable[[], tuple[Floats, Floats]]

    @classmethod
    def of(
        cls, name: str, meaning: Meaning, fetch: Callable[[], tuple[Floats, Floats]], *, count: int, last: float
    ) -> Series:
        """`fetch` gives steps and values."""
        series = cls.__new__(cls)
        known = {"name": name, "meaning": meaning, "axis": "step", "times": None, "_fetch": fetch}
        for attribute, value in {**known, "_count": count, "_last": last}.items():
            object.__setattr__(series, attribute, value)
        return series

    def __getattr__(self, attribute: str) -> Any:
        """Called for what is not there yet. One that `replace` made has its numbers from the beginning."""
        if attribute in ("steps", "values"):
            for name, numbers in zip(("steps", "values"), self._fetch(), strict=True):
                object.__setattr__(self, name, numbers)
            object.__setattr__(self, "_count", len(self.values))
            return getattr(self, attribute)
        if attribute in ("_count", "_last"):
            return len(self.values) if attribute == "_count" else float(self.steps[-1])
        raise AttributeError(attribute)

    def __len__(self) -> int:
        return self._count

    @property
    def last(self) -> float:
        return self._last


@dataclass(frozen=True, slots=True)
class Event:
    """Something the log says happened, other than a number: a traceback, a restart, the end of the training."""

    kind: EventKind
    text: str
    step: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something seen directly inside a training: `present` says whether what the id names was seen or was looked for
    and not seen; `where` is a layer, a parameter or file:line. A `probe` speaks of one moment, a recording of the whole
    run."""

    id: str
    present: bool
    evidence: str
    where: str | None = None
    step: float | None = None
    clarity: float = 1.0
    probe: str | None = None


@dataclass(slots=True)
class Run:
    """Everything known of one training. Readers, the recorder and the probes fill it; signals only read it."""

    source: str
    format: str
    name: str = ""
    series: dict[str, Series] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)  # flat: 'optimizer.lr' → 0.1
    events: list[Event] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)  # what a recording saw directly, by the symptom it speaks of
    measured: list[Measured] = field(default_factory=list)  # what instruments measured, one for each rank
    probed: list[Measured] = field(default_factory=list)  # what probes measured, one for each reading
    lost: list[str] = field(default_factory=list)  # what was damaged and could not be read, one sentence each
    last_lines: tuple[str, ...] = ()  # of a text log that tells of a crash
    said: tuple[str, ...] = ()  # lines of a text log that complain of something, each kind once
    copies: list[str] = field(default_factory=list)  # other logs of this very training, which were left out

    @property
    def seen_inside(self) -> bool:
        """Somebody looked inside the training: a recorder, a probe, or whoever read its checkpoint."""
        return any(self.measured) or any(self.probed) or bool(self.facts)

    @property
    def died(self) -> Event | None:
        """The crash or kill that ended the run. Somebody who pressed Ctrl-C stopped it on purpose: that is none."""
        end = self.cut_off
        return None if end is None or end.text.startswith("KeyboardInterrupt") else end

    @property
    def cut_off(self) -> Event | None:
        """What ended the run before its end: a crash, a kill or a person, after which nothing was logged and no end was
        announced. An exception that the script handled, or a run that was resumed after it, is none."""
        ends = [place for place, event in enumerate(self.events) if event.kind in ENDS]
        last = self.events[ends[-1] + 1 :] if ends else self.events
        fatal = (event for event in last if event.kind in CRASHES and (event.step is None or event.step >= self.steps))
        return next(fatal, None)

    def of(self, *kinds: Kind) -> list[Series]:
        """All series of these kinds, in the order they were logged."""
        return [series for series in self.series.values() if series.meaning.kind in kinds]

    @property
    def points(self) -> int:
        return sum(len(series) for series in self.series.values())

    @property
    def steps(self) -> int:
        """How many steps the run covers: the largest step of any series on the finest axis there is."""
        axis = self.axis
        lasts = [series.last for series in self.series.values() if series.axis == axis and len(series)]
        return int(max(lasts, default=0))

    @property
    def length(self) -> int:
        """How many steps, epochs or rows there are: epochs 0 to 9 are ten, and so are rows."""
        axis = self.axis
        firsts = [float(series.steps[0]) for series in self.series.values() if series.axis == axis and len(series)]
        return self.steps + (axis != "step" and self.steps > 0 and min(firsts) == 0)

    @property
    def axis(self) -> Axis:
        """The finest axis any series is logged on."""
        axes = {series.axis for series in self.series.values() if len(series)}
        return "step" if "step" in axes or not axes else "epoch" if "epoch" in axes else "row"

    def add_config(self, config: Mapping[str, Any]) -> None:
        self.config.update(flatten(config))

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything known of this run to one file, which `Run.load`, `traindx.read` and the commands read."""
        from traindx.run_file import lines_of

        with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.writelines(f"{line}\n" for line in lines_of(self))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Run:
        """The run in a file that `save` wrote; a TraindxError where it is none. What is damaged in it is named in
        `lost`."""
        from traindx.run_file import run_of

        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return run_of(file, str(path))
        except OSError as error:
            raise TraindxError(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from error

    def __repr__(self) -> str:
        """One line: a run may hold millions of values."""
        where = f"{self.source} ({self.name})" if self.name else self.source
        return f"<Run {where}, {self.format}, {self.length} {self.axis}s, {len(self.series)} series>"

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from traindx.reporters.html.fragment import of_run

        return of_run(self)


def flatten(mapping: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested settings as 'a.b.c' keys; W&B's {'value': x} wrappers are opened, private keys left out."""
    flat: dict[str, Any] = {}
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if str(key).startswith("_") or depth > 8:
            continue
        if isinstance(value, Mapping):
            if set(value) <= {"value", "desc"} and "value" in value:
                inner = value["value"]
                flat.update(flatten({key: inner}, prefix, depth + 1))
            else:
                flat.update(flatten(value, f"{name}.", depth + 1))
        elif isinstance(value, str | int | float | bool) or value is None:
            flat[name] = value
        elif isinstance(value, Iterable):
            flat[name] = str(list(value))[:200]
    return flat
