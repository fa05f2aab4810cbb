"""What the page draws of a run, as data: panels of curves, other series to pick from, symptoms on the step axis, heat
maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from traindx.diagnosis import Diagnosis, Observation
from traindx.meaning import meaning_of
from traindx.reading import Chart, Line
from traindx.reporters.figure.choice import Clock, Panel, clock_of, colors_of, extent, panels_of
from traindx.reporters.html.heat import HeatMap, heat_maps
from traindx.reporters.html.thinned import thinned
from traindx.reporters.sparkline import LOG_FROM
from traindx.reporters.wording import clean, count, main_symptom, number
from traindx.run import Axis, Run, Series
from traindx.signals import Settings
from traindx.symptoms import symptoms

COLUMNS = 1500  # of a panel: more than a screen has, so that the first zoom is still sharp
OTHER_COLUMNS = 500
MOST_OTHERS = 120
WHOLE = 0.9  # a symptom over more of the run than this is not shaded
STILL_COLUMNS = 200  # of the picture for pages whose script may not run
_INSIDE = ("grad_norm", "weight_norm", "update_ratio", "activation", "dead", "saturated")


@dataclass(frozen=True)
class Plots:
    """Everything that is drawn of one run."""

    clock: Clock
    panels: tuple[Panel, ...]
    others: tuple[Series, ...]
    heats: tuple[HeatMap, ...]
    marks: tuple[dict[str, Any], ...]
    left_out: int  # series that are in no panel, no map and not among the others

    def data(self) -> dict[str, Any]:
        """As the page's script takes it."""
        return {
            "axis": self.clock.axis,
            "first": self.clock.first,
            "last": self.clock.last,
            "panels": self.window(COLUMNS),
            "others": [
                _series(one, 0, self.clock, OTHER_COLUMNS) | {"log": asks_for_log([one])} for one in self.others
            ],
            "symptoms": list(self.marks),
            "heats": [heat.data() for heat in self.heats],
        }

    def window(self, columns: int, first: float | None = None, last: float | None = None) -> list[dict[str, Any]]:
        """The panels between two steps."""
        return [
            {
                "title": panel.title, "log": is_log(panel),
                "series": [_series(one, color, self.clock, columns, first, last) for one,
                           color in zip(panel.series, panel.colors, strict=True)],
            }
            for panel in self.panels
        ]  # fmt: skip


def plots_of(run: Run, diagnosis: Diagnosis, settings: Settings | None = None) -> Plots:
    """What to draw of a run, by the choice of series that its diagnosis rests on."""
    panels = tuple(panels_of(run, settings or Settings()))
    clock = clock_of(panels)
    shown = {series.name for panel in panels for series in panel.series}
    rest = [series for series in run.series.values() if len(series) and series.name not in shown]
    plain = [series for series in rest if not (series.meaning.kind in _INSIDE and series.meaning.where)]
    maps = tuple(heat_maps(run))
    unmapped = 0 if maps else len(rest) - len(plain)
    marks = _marks(diagnosis, run, clock)
    return Plots(clock, panels, tuple(plain[:MOST_OTHERS]), maps, marks, max(len(plain) - MOST_OTHERS, 0) + unmapped)


def plots_of_curves(diagnosis: Diagnosis) -> Plots:
    """What a diagnosis without its run can still draw: the small pictures it carries."""
    kept = [
        Series(
            curve.name,
            replace(meaning_of(curve.name), goal=curve.goal),
            np.array(curve.steps, float),
            np.array(curve.values, float),
            axis=cast(Axis, curve.axis or diagnosis.run.axis),
        )
        for curve in diagnosis.curves
        if curve.values
    ]
    kinds = dict.fromkeys(series.meaning.kind for series in kept)
    groups = [[series for series in kept if series.meaning.kind == kind] for kind in kinds]
    panels = tuple(Panel(group[0].meaning.kind, tuple(group), colors_of(group)) for group in groups)
    clock = clock_of(panels)
    return Plots(clock, panels, (), (), _marks(diagnosis, Run(diagnosis.run.source, diagnosis.run.format), clock), 0)


def still(panel: Panel, clock: Clock, columns: int = STILL_COLUMNS) -> Chart:
    """The panel as a chart that needs no script."""
    lines = []
    for series in panel.series:
        small = thinned(clock.place(series), series.values, columns)
        if "lo" in small:
            x = [step for step in small["x"] for _ in range(2)]
            y = [value for pair in zip(small["lo"], small["hi"], strict=True) for value in pair]
        else:
            x, y = small["x"], small["y"]
        lines.append(Line(clean(series.name), tuple(x), tuple(y)))
    return Chart("", clock.axis, panel.title, tuple(lines), log_y=is_log(panel))


def is_log(panel: Panel) -> bool:
    """Whether the values ask for a logarithmic axis; shares and percentages are read on a linear one."""
    return panel.title != "score" and asks_for_log(panel.series)


def asks_for_log(series: Sequence[Series]) -> bool:
    finite = [one.values[np.isfinite(one.values)] for one in series]
    values = np.concatenate(finite) if finite else np.empty(0)
    return bool(len(values) and values.min() > 0 and values.max() / values.min() > LOG_FROM)


def sentence(series: Series) -> str:
    """A series in words: first, best and last value."""
    finite = np.flatnonzero(np.isfinite(series.values))
    name = clean(series.name)
    if not len(finite):
        return f"{name}: not one finite value"
    values = series.values[finite]
    best = int(np.argmax(values) if series.meaning.goal == "max" else np.argmin(values))
    at = series.steps[finite[best]]
    word = "best" if series.meaning.goal else "lowest"
    text = (
        f"{name}: first {number(values[0])}, {word} {number(values[best])} at {series.axis} {count(at)}, last "
        f"{number(series.values[-1])}"
    )
    broken = len(series) - len(finite)
    return f"{text}; {count(broken)} not finite" if broken else text


def _series(
    series: Series, color: int, clock: Clock, columns: int, first: float | None = None, last: float | None = None
) -> dict[str, Any]:
    return {
        "name": clean(series.name),
        "color": color,
        **thinned(clock.place(series), series.values, columns, first, last),
    }


def _marks(diagnosis: Diagnosis, run: Run, clock: Clock) -> tuple[dict[str, Any], ...]:
    main = main_symptom(diagnosis)
    reach = (clock.last - clock.first) or 1.0
    found = []
    for symptom in diagnosis.present():
        first, last = extent(symptom, run, clock)
        whole = symptom.steps is None or (last - first) / reach > WHOLE
        found.append({
            "id": clean(symptom.id), "first": float(first), "last": float(last), "whole": bool(whole),
            "main": symptom.id == main,
            "problem": is_problem(symptom),
        })  # fmt: skip
    return tuple(found)


def is_problem(symptom: Observation) -> bool:
    known = symptoms().get(symptom.id)
    return known is None or known.severity == "problem"
