"""A comparison as a picture: the curves on their common axis, and beside them what each setting that matters
reached."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from traindx.comparison.result import Comparison, Explanation
from traindx.comparison.settings import numeric, shown
from traindx.reporters.comparison import parts
from traindx.reporters.figure import style
from traindx.reporters.wording import number

NAMED = 8
NAME_ROOM = 30  # characters
MOST_CURVES = 300
MOST_PANELS = 2
FADED = "#C9CED6"


def draw_comparison(comparison: Comparison, output: Path) -> Path:
    """Draw it into one PNG file."""
    panels = [one for one in comparison.explanations if len(one.levels) > 1][:MOST_PANELS]
    with style.figure(5.4, output) as drawing:
        places = drawing.add_gridspec(1, 1 + len(panels), width_ratios=[2.2, *[1.0] * len(panels)])
        _curves(drawing.add_subplot(places[0]), comparison)
        for column, one in enumerate(panels, 1):
            _levels(drawing.add_subplot(places[column]), one, comparison.metric)
    return output


def _curves(on: Axes, comparison: Comparison) -> None:
    ranked = [row for row in comparison.ranked() if row.curve[0]][:MOST_CURVES]
    name = parts.Labels(comparison.rows)
    short = name.short(NAME_ROOM)
    for place, row in reversed(list(enumerate(ranked))):
        named = place < NAMED
        on.plot(
            row.curve[0], row.curve[1], color=style.SERIES[place] if named else FADED, linewidth=1.6 if named else 0.8,
            linestyle="--" if row.verdict == "unhealthy" else "-", marker="o" if len(row.curve[0]) == 1 else None,
            label=style.label(f"#{row.rank} {short[name(row)]}", NAME_ROOM + 8) if named else None,
        )  # fmt: skip
    style.scale(on, [np.array(row.curve[1]) for row in ranked])
    if len(ranked) > 1 and np.isfinite(comparison.target):
        on.axhline(comparison.target, color=style.QUIET, linewidth=0.8, linestyle=":")
    on.set_xlabel({"progress": "share of the run", "time": "seconds"}.get(comparison.alignment, comparison.alignment))
    on.set_ylabel(style.label(comparison.metric))
    title = f"{len(comparison.rows)} runs (broken lines: unhealthy, dotted: common target)"
    if comparison.versus is not None:
        title = f"Did it help? {parts.HELPED[comparison.versus.verdict]}\n{title}"
    on.set_title(title, loc="left", fontsize=10, fontweight="bold")
    if ranked:
        handles, labels = on.get_legend_handles_labels()
        on.legend(handles[::-1], labels[::-1], loc="best")


def _levels(on: Axes, one: Explanation, metric: str) -> None:
    """Mean and interval for each value of a setting."""
    numbers = all(numeric(level.value) for level in one.levels)
    places = [float(level.value) for level in one.levels] if numbers else list(range(len(one.levels)))
    bars = np.nan_to_num(np.array([level.interval for level in one.levels]))
    on.errorbar(places, [level.mean for level in one.levels], yerr=bars, fmt="o", color=style.TRAIN, capsize=3)
    if numbers and min(places) > 0 and max(places) / min(places) >= 10:
        on.set_xscale("log")
        on.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))  # no markup in a font without it
        on.xaxis.set_minor_formatter(NullFormatter())
    if not numbers:
        on.set_xticks(places, [style.label(shown(level.value), 14) for level in one.levels], rotation=30)
    style.scale(on, [np.array([level.mean for level in one.levels])])
    on.set_xlabel(style.label(one.setting))
    on.set_title(f"{style.label(one.setting, 24)}: {one.verdict}", loc="left", fontsize=10)
    on.set_ylabel(f"mean {style.label(metric, 20)}")
