"""Several runs in one picture: their objectives over each other, coloured by run, sick ones drawn broken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traindx.diagnosis import Diagnosis
from traindx.reporters.figure import style
from traindx.reporters.figure.thin import envelope, marks, smoothed
from traindx.reporters.wording import amount, run_name
from traindx.run import Floats, Run, Series
from traindx.signals import Settings, Signals

NAMED = 10  # more runs than colours: the rest is drawn in grey and not named


def draw_overlay(pairs: Sequence[tuple[Run, Diagnosis]], settings: Settings, output: Path) -> Path:
    """Draw the curve every run is judged by into one PNG file."""
    with style.figure(5.2, output) as drawing:
        on = drawing.add_subplot()
        drawn: list[Floats] = []
        axis = "step"
        for place, (run, diagnosis) in enumerate(pairs):
            main = Signals(run, settings).main
            if main is None or not len(main.series):
                continue
            color = style.SERIES[place] if place < NAMED else "#C9CED6"
            name = f"{style.label(run_name(diagnosis), 40)} ({diagnosis.verdict})" if place < NAMED else None
            x, y = _line(main.series)
            drawn.append(y)
            on.plot(
                x,
                y,
                color=color,
                label=name,
                linewidth=1.6,
                linestyle="--" if diagnosis.verdict == "unhealthy" else "-",
            )
            bad = marks(main.series.steps, main.series.values)
            if len(bad):
                on.plot(bad, [0.03] * len(bad), "x", color=color, transform=on.get_xaxis_transform(), clip_on=False)
            axis = main.series.axis
        style.scale(on, drawn)
        on.set_xlabel(axis)
        on.set_ylabel("objective, smoothed")
        title = amount(len(pairs), "run") + (f", the first {NAMED} named" if len(pairs) > NAMED else "")
        on.set_title(f"{title} (broken lines: unhealthy, ✕: NaN or Inf)", loc="left", fontsize=11, fontweight="bold")
        if drawn:
            on.legend(loc="best")
    return output


def _line(series: Series) -> tuple[Floats, Floats]:
    calm = smoothed(series.steps, series.values)
    return envelope(series.steps, series.values) if calm is None else calm
