"""The figure of a probe: its charts, one above the other, in the same style as the figure of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from traindx.reading import Chart, Line, Reading
from traindx.reporters.figure import style
from traindx.reporters.wording import clean, number
from traindx.run import Floats

PANEL = 3.4  # inches a chart
MOST_NAMES = 40  # labels on an axis that can still be read


def draw_readings(readings: Sequence[Reading], output: Path) -> Path:
    """Every chart of these readings into one PNG file."""
    charts = [(reading, chart) for reading in readings for chart in reading.charts]
    with style.figure(PANEL * max(len(charts), 1) + 0.4, output) as drawing:
        if not charts:
            on = drawing.add_subplot()
            on.text(0.5, 0.5, "nothing was measured", ha="center", transform=on.transAxes, color=style.QUIET)
        for place, (_, chart) in enumerate(charts):
            _draw(drawing.add_subplot(len(charts), 1, place + 1), chart)
    return output


def _draw(on: Axes, chart: Chart) -> None:
    for place, line in enumerate(chart.lines):
        _line(on, line, style.SERIES[place % len(style.SERIES)], len(chart.lines), place)
    if chart.log_x:
        on.set_xscale("log", nonpositive="mask")
        on.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        on.xaxis.set_minor_formatter(NullFormatter())
    if chart.log_y:
        marked = [mark.at for mark in chart.marks if mark.axis == "y"]
        style.scale(on, [*(_floats(line.y) for line in chart.lines), _floats(marked)])
    for mark in chart.marks:
        color = style.PROBLEM if mark.urgent else style.QUIET
        (on.axvline if mark.axis == "x" else on.axhline)(mark.at, color=color, linewidth=1.1, linestyle="--")
        across = on.get_xaxis_transform() if mark.axis == "x" else on.get_yaxis_transform()
        where = (mark.at, 0.97) if mark.axis == "x" else (0.99, mark.at)
        on.annotate(
            f" {clean(mark.label)} ", where, xycoords=across, fontsize=8, color=color,
            va="top" if mark.axis == "x" else "bottom",
            ha="left" if mark.axis == "x" else "right",
        )  # fmt: skip
    if chart.names:
        stride = -(-len(chart.names) // MOST_NAMES)
        shown = range(0, len(chart.names), stride)
        on.set_xticks(
            list(shown), [style.label(chart.names[i], 28) for i in shown], rotation=60, ha="right", fontsize=7.5
        )
    on.set_title(clean(chart.title), loc="left", fontsize=11, fontweight="bold")
    on.set_xlabel(clean(chart.x_label))
    on.set_ylabel(clean(chart.y_label))
    if len(chart.lines) > 1:
        on.legend(loc="best")


def _line(on: Axes, line: Line, color: str, of: int, place: int) -> None:
    x, y = _floats(line.x), _floats(line.y)
    name = style.label(line.name)
    if line.kind == "bars":
        width = 0.8 / of
        on.bar(x + (place - (of - 1) / 2) * width, y, width, color=color, label=name)
    elif line.kind == "points":
        on.plot(x, y, "o", markersize=4, color=color, label=name)
    else:
        faint = line.kind == "faint"
        on.plot(
            x,
            y,
            color=color,
            label=name,
            linewidth=0.8 if faint else 1.6,
            alpha=0.45 if faint else 1.0,
            marker="" if len(x) > 30 else ".",
        )
    if line.error is not None:
        on.errorbar(x, y, yerr=np.asarray(line.error), fmt="none", ecolor=color, elinewidth=1.0, capsize=2)


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
