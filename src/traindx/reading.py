"""Reading: what one probe measured, as plain data. It is made where the model is and shown elsewhere, so it travels as
JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from traindx.measurements import Measurement, as_line, from_line
from traindx.run import Fact

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Numbers for people: one row a layer, a batch size, a check. None is shown as a dash."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Line:
    """One quantity in a chart. `error` draws bars of that half-length around it; None is a gap."""

    name: str
    x: tuple[float | None, ...]
    y: tuple[float | None, ...]
    kind: Literal["line", "points", "bars", "faint"] = "line"
    error: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Mark:
    """A labelled straight line across a chart, at a place of its x or its y axis; an urgent one stands out."""

    at: float
    label: str
    axis: Literal["x", "y"] = "x"
    urgent: bool = False


@dataclass(frozen=True)
class Chart:
    """One panel of a probe's figure. `names` label the places 0, 1, 2, … of the x axis."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    names: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Reading:
    """What a probe found. `measured` is what symptoms judge, `facts` speak of symptoms (an id a fact), `values` are
    series values of the step it looked at, `config` settings it learned, `unknown` says what could not be measured and
    why."""

    probe: str
    summary: str
    facts: tuple[Fact, ...] = ()
    measured: tuple[Measurement, ...] = ()
    values: dict[str, float] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    unknown: tuple[str, ...] = ()
    step: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As JSON holds it: NaN and Inf, which JSON does not have, become null."""
        whole = {**msgspec.to_builtins(self), "measured": [as_line(one, one.step) for one in self.measured]}
        plain: dict[str, Any] = json.loads(json.dumps(_finite(whole)))
        return plain

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Reading:
        """A value that JSON could not hold was not finite; marks and error bars that were not are not drawn."""
        values = {name: math.nan if value is None else value for name, value in data.get("values", {}).items()}
        charts = [_drawable(chart) for chart in data.get("charts", ())]
        measured = [found for line in data.get("measured", ()) if (found := from_line(line)) is not None]
        rest = {**data, "values": values, "charts": charts, "measured": ()}
        return replace(msgspec.convert(rest, cls, strict=False), measured=tuple(measured))


def _drawable(chart: dict[str, Any]) -> dict[str, Any]:
    marks = [mark for mark in chart.get("marks", ()) if mark["at"] is not None]
    lines = [{**line, "error": None} if None in (line.get("error") or ()) else line for line in chart["lines"]]
    return {**chart, "marks": marks, "lines": lines}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(member) for key, member in value.items()}
    return [_finite(member) for member in value] if isinstance(value, list | tuple) else value
