"""The figure of one run: symptoms, objective, scores, learning rate and gradient norm on one step axis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from traindx.diagnosis import Diagnosis, Observation
from traindx.reporters.figure import style
from traindx.reporters.figure.choice import Clock, Panel, clock_of, extent, panels_of
from traindx.reporters.figure.thin import envelope, marks, smoothed
from traindx.reporters.wording import (
    VERDICT_WORD,
    clean,
    count,
    leading,
    length_of,
    main_symptom,
    number,
    percent,
    run_name,
    title_of,
)
from traindx.run import Floats, Run, Series
from traindx.signals import Settings
from traindx.symptoms import symptoms

MAX_SYMPTOMS = 8
WHOLE = 0.9  # a symptom over more of the run than this is not shaded: all grey would show nothing
_LANE, _MAIN, _SIDE, _MARGINS = 0.27, 3.3, 1.5, 1.3  # inches


def draw_run(run: Run, diagnosis: Diagnosis, settings: Settings, output: Path) -> Path:
    """Draw one run with its diagnosis into a PNG file."""
    panels = panels_of(run, settings)
    clock = clock_of(panels)
    shown = diagnosis.present()[:MAX_SYMPTOMS]
    heights = [_LANE * len(shown) + 0.1] * bool(shown) + [_MAIN] + [_SIDE] * max(len(panels) - 1, 0)
    with style.figure(sum(heights) + _MARGINS, output) as drawing:
        grid = drawing.add_gridspec(len(heights), 1, height_ratios=heights)
        axes = [drawing.add_subplot(grid[0])]
        axes += [drawing.add_subplot(grid[place], sharex=axes[0]) for place in range(1, len(heights))]
        below = axes[1:] if shown else axes
        for place, (panel, on) in enumerate(zip(panels, below, strict=False)):
            _draw(on, panel, clock, tell=place == 0)
        if not panels:
            below[0].text(0.5, 0.5, "no series to draw", ha="center", transform=below[0].transAxes, color=style.QUIET)
        if shown:
            _lane(axes[0], shown, run, clock)
            for on in below:
                _shade(on, shown, main_symptom(diagnosis), run, clock)
        for on in axes[:-1]:
            on.tick_params(labelbottom=False)
        drawing.align_ylabels(below)
        axes[-1].set_xlabel(clock.axis)
        axes[-1].xaxis.set_major_formatter(FuncFormatter(lambda step, _: count(step)))
        room = (clock.last - clock.first) * 0.015 or 0.5
        axes[0].set_xlim(clock.first - room, clock.last + room)
        _title(axes[0], diagnosis)
    return output


def _draw(on: Axes, panel: Panel, clock: Clock, tell: bool) -> None:
    drawn: list[Floats] = []
    for series, place_in_palette in zip(panel.series, panel.colors, strict=True):
        color = style.SERIES[place_in_palette]
        place = clock.place(series)
        x, y = envelope(place, series.values)
        drawn.append(y)
        calm = smoothed(place, series.values) if panel.title != "learning rate" else None
        name = style.label(series.name) + (_key_values(series) if tell else "")
        if calm is None:
            on.plot(
                x, y, color=color, linewidth=1.6, label=name, marker="o", markersize=3.2 if len(series) <= 60 else 0
            )
        else:
            on.plot(x, y, color=color, linewidth=0.7, alpha=0.3)
            on.plot(*calm, color=color, linewidth=1.9, label=name)
        _not_finite(on, place, series)
        if tell:
            _ring_best(on, place, series, color)
    if panel.title != "score":  # shares and percentages are read on a linear axis
        style.scale(on, drawn)
    on.set_ylabel(panel.title)
    if tell or len(panel.series) > 1 or panel.series[0].meaning.kind in ("score", "loss", "reward"):
        on.legend(loc="best")


def _key_values(series: Series) -> str:
    best = _best(series)
    if best is None:
        return " (no finite value)"
    value, step = series.values[best], series.steps[best]
    return f" (best {number(value)} at {series.axis} {count(step)}, last {number(series.values[-1])})"


def _best(series: Series) -> int | None:
    if not np.isfinite(series.values).any():
        return None
    worst = -np.inf if series.meaning.goal == "max" else np.inf
    values = np.where(np.isfinite(series.values), series.values, worst)
    return int(np.argmax(values) if series.meaning.goal == "max" else np.argmin(values))


def _ring_best(on: Axes, place: Floats, series: Series, color: str) -> None:
    best = _best(series)
    if best is not None:
        on.plot(place[best], series.values[best], "o", markersize=7, markerfacecolor="none", markeredgecolor=color)


def _not_finite(on: Axes, place: Floats, series: Series) -> None:
    bad = marks(place, series.values)
    if not len(bad):
        return
    on.axvline(bad[0], color=style.PROBLEM, linewidth=1.1, linestyle=(0, (2, 2)))
    name = f"{style.label(series.name)} NaN/Inf"
    on.plot(bad, np.full(len(bad), 0.04), "x", transform=on.get_xaxis_transform(), markersize=6, markeredgewidth=1.7,
            color=style.PROBLEM, label=name, clip_on=False)  # fmt: skip


def _lane(on: Axes, shown: Sequence[Observation], run: Run, clock: Clock) -> None:
    """One bar a symptom, named on its own row, so that names never run into each other."""
    thin = (clock.last - clock.first) * 0.004 or 0.1
    for place, symptom in enumerate(shown):
        first, last = extent(symptom, run, clock)
        color = _color(symptom)
        if symptom.steps is None:
            on.hlines(place, first, last, color=color, linewidth=1.2, linestyle=(0, (1, 3)))
        else:
            on.barh(place, max(last - first, thin), left=first, height=0.5, color=color, linewidth=0)
    on.set_yticks(range(len(shown)), [clean(symptom.id) for symptom in shown])
    for tick, symptom in zip(on.get_yticklabels(), shown, strict=True):
        tick.set_color(_color(symptom))
    on.set_ylim(len(shown) - 0.4, -0.6)
    on.grid(visible=False, axis="y")
    on.tick_params(length=0)
    on.spines["bottom"].set_visible(False)
    on.spines["left"].set_visible(False)


def _shade(on: Axes, shown: Sequence[Observation], main: str, run: Run, clock: Clock) -> None:
    """A line where each symptom begins; only the main one is shaded, since shades on shades hide the curves."""
    whole = (clock.last - clock.first) or 1.0
    for symptom in shown:
        if symptom.steps is None:
            continue
        first, last = extent(symptom, run, clock)
        if (last - first) / whole > WHOLE:
            continue
        if symptom.id == main:
            on.axvspan(first, last, color=_color(symptom), alpha=0.08, linewidth=0)
        on.axvline(first, color=_color(symptom), alpha=0.55, linewidth=0.9, linestyle=(0, (4, 3)))


def _color(symptom: Observation) -> str:
    known = symptoms().get(symptom.id)
    return style.PROBLEM if known is None or known.severity == "problem" else style.NOTE


def _title(on: Axes, diagnosis: Diagnosis) -> None:
    first = leading(diagnosis)
    said = f"{title_of(first)} ({percent(first.confidence)})" if first is not None else clean(diagnosis.headline)
    steps = f"  ·  {length_of(diagnosis)}" if length_of(diagnosis) else ""
    on.set_title(f"{style.label(run_name(diagnosis), 66)}{steps}\n", loc="left", fontsize=11, fontweight="bold")
    on.annotate(style.label(said, 110), (0, 1), xytext=(0, 7), xycoords="axes fraction", textcoords="offset points",
                fontsize=9.5, color="#4A5058")  # fmt: skip
    on.set_title(f"{VERDICT_WORD[diagnosis.verdict]}\n", loc="right", fontsize=11, fontweight="bold",
                 color=style.VERDICT[diagnosis.verdict])  # fmt: skip
