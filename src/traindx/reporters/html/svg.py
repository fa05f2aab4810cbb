"""Charts that stand still, as SVG: for probes' figures, notebooks, print, and pages whose script may not run."""

from __future__ import annotations

import math
from collections.abc import Sequence

from traindx.reading import Chart, Line
from traindx.reporters.html.markup import Html, tag
from traindx.reporters.wording import clean, number

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 12, 40
# the palette of the figures, for places that have no style sheet; a page's style sheet overrides them
HEX = ("#0072B2", "#D55E00", "#00805D", "#7F4F9B", "#9A6F00", "#3A8FC4", "#B8578F", "#666666", "#8C564B", "#0E8793")
GREY, RED, FAINT = "#7A828C", "#C0392B", "#C9CFD6"
NAME_LETTERS = 16
LETTER = 7.0  # pixels a letter of a label takes, with the room between labels


def chart_svg(chart: Chart, *, width: int = WIDTH, height: int = HEIGHT) -> Html:
    """One chart with its axes, lines, marks and a key; `aria-label` says in words what it is."""
    across = _Scale(
        [x for line in chart.lines for x in line.x] + [m.at for m in chart.marks if m.axis == "x"],
        chart.log_x,
        LEFT,
        width - RIGHT,
    )
    up = _Scale(_heights(chart), chart.log_y, height - BOTTOM, TOP)
    parts = [*_grid(chart, across, up, width, height)]
    for place, line in enumerate(chart.lines):
        parts += _line(line, place % len(HEX), across, up, height)
    for mark in chart.marks:
        parts += _mark(mark.at, mark.label, mark.axis, mark.urgent, across, up, width, height)
    label = (
        f"{chart.title or chart.y_label}: {', '.join(line.name for line in chart.lines if line.name)} over "
        f"{chart.x_label}"
    )
    return tag(
        "svg", *parts, viewBox=f"0 0 {width} {height}", class_="chart-svg", role="img", aria_label=clean(label),
        width="100%",
        font_family="system-ui, sans-serif", font_size="11", preserveAspectRatio="none" if width > WIDTH else None,
    )  # fmt: skip


def _heights(chart: Chart) -> list[float | None]:
    found: list[float | None] = [m.at for m in chart.marks if m.axis == "y"]
    for line in chart.lines:
        errors = line.error or (0.0,) * len(line.y)
        for y, error in zip(line.y, errors, strict=True):
            if y is not None:
                found += [y - error, y + error] if error else [y]
        if line.kind == "bars" and not chart.log_y:
            found.append(0.0)
    return found


class _Scale:
    """From numbers to places between two edges; what cannot be shown (no number, not positive on a logarithmic axis) is
    None."""

    def __init__(self, values: Sequence[float | None], log: bool, start: float, end: float) -> None:
        self.log, self.start, self.end = log, start, end
        known = [place for value in values if (place := self._raw(value)) is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        if low == high:
            low, high = low - (abs(low) * 0.1 or 0.5), high + (abs(high) * 0.1 or 0.5)
        room = (high - low) * 0.04
        self.low, self.high = low - room, high + room

    def _raw(self, value: float | None) -> float | None:
        if value is None or not math.isfinite(value) or (self.log and value <= 0):
            return None
        return math.log10(value) if self.log else value

    def __call__(self, value: float | None) -> float | None:
        raw = self._raw(value)
        return (
            None
            if raw is None
            else round(self.start + (raw - self.low) / (self.high - self.low) * (self.end - self.start), 1)
        )

    def ticks(self, wanted: int) -> list[float]:
        if self.log:
            every = max(1, math.ceil((self.high - self.low) / wanted))
            decades = range(math.ceil(self.low), math.floor(self.high) + 1, every)
            if len(decades) >= 2:
                return [10.0**power for power in decades]
            return [10.0 ** (self.low + (self.high - self.low) * part / 3) for part in (0.2, 1.5, 2.8)]
        raw = (self.high - self.low) / wanted
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw)
        first = math.ceil(self.low / step)
        return [place * step for place in range(first, math.floor(self.high / step) + 1)]


def _grid(chart: Chart, across: _Scale, up: _Scale, width: int, height: int) -> list[Html]:
    parts = []
    for value in up.ticks(4):
        y = up(value)
        parts.append(
            tag("line", x1=LEFT, x2=width - RIGHT, y1=str(y), y2=str(y), stroke=FAINT, stroke_width="1", class_="grid")
        )
        parts.append(
            tag("text", number(value), x=LEFT - 6, y=str(y), text_anchor="end", dominant_baseline="middle", fill=GREY)
        )
    if chart.names:
        longest = max(len(clean(name)[:NAME_LETTERS]) for name in chart.names)
        every = max(1, math.ceil(len(chart.names) * longest * LETTER / (width - LEFT - RIGHT)))
        ticks = [(float(place), clean(name)[:NAME_LETTERS]) for place, name in enumerate(chart.names)][::every]
    else:
        ticks = [(tick, number(tick)) for tick in across.ticks(6)]
    for value, name in ticks:
        parts.append(tag("text", name, x=str(across(value)), y=height - BOTTOM + 14, text_anchor="middle", fill=GREY))
    parts.append(
        tag("text", chart.x_label, x=str((LEFT + width - RIGHT) // 2), y=height - 6, text_anchor="middle", fill=GREY)
    )
    return parts


def _line(line: Line, color: int, across: _Scale, up: _Scale, height: int) -> list[Html]:
    look = {
        "class_": f"s{color}",
        "stroke": HEX[color],
        "fill": "none",
        "opacity": "0.35" if line.kind == "faint" else None,
    }
    places = [(across(x), up(y)) for x, y in zip(line.x, line.y, strict=True)]
    parts: list[Html] = []
    if line.kind in ("line", "faint"):
        parts.append(tag("path", d=_path(places), stroke_width="1.6", **look))
    for place, (x, y) in enumerate(places):
        if x is None or y is None:
            continue
        if line.kind == "bars":
            parts.append(tag("line", x1=str(x), x2=str(x), y1=str(y), y2=height - BOTTOM, stroke_width="6", **look))
        elif line.kind == "points":
            parts.append(tag("circle", cx=str(x), cy=str(y), r="2", stroke_width="2.4", **look))
        if line.error is not None and line.y[place] is not None and line.error[place]:
            low, high = up(line.y[place] - line.error[place]), up(line.y[place] + line.error[place])  # type: ignore[operator]
            if low is not None and high is not None:
                parts.append(tag("line", x1=str(x), x2=str(x), y1=str(low), y2=str(high), stroke_width="1", **look))
    return parts


def _path(places: Sequence[tuple[float | None, float | None]]) -> str:
    pieces, down = [], False
    for x, y in places:
        if x is None or y is None:
            down = False
            continue
        pieces.append(f"{'L' if down else 'M'}{x:g} {y:g}")
        down = True
    return "".join(pieces)


def _mark(
    at: float, label: str, axis: str, urgent: bool, across: _Scale, up: _Scale, width: int, height: int
) -> list[Html]:
    place = across(at) if axis == "x" else up(at)
    if place is None:
        return []
    look = {"stroke": RED if urgent else GREY, "class_": "urgent" if urgent else "mark", "stroke_dasharray": "4 3"}
    ink = {"fill": RED if urgent else GREY, "class_": "urgent" if urgent else None}
    if axis == "x":
        anchor = "end" if place > width * 0.7 else "start"
        label_x = place - 4 if anchor == "end" else place + 4
        return [
            tag("line", x1=str(place), x2=str(place), y1=TOP, y2=height - BOTTOM, **look),
            tag("text", label, x=str(label_x), y=TOP + 9, text_anchor=anchor, **ink),
        ]
    return [
        tag("line", x1=LEFT, x2=width - RIGHT, y1=str(place), y2=str(place), **look),
        tag("text", label, x=width - RIGHT, y=str(place - 4), text_anchor="end", **ink),
    ]


def chart_figure(chart: Chart) -> Html:
    """The chart with its title and, where it has several lines, the key to their colours."""
    named = [(place % len(HEX), line.name) for place, line in enumerate(chart.lines) if line.name]
    keys = [tag("span", tag("i", class_=f"c{color}"), name, class_="key") for color, name in named]
    caption = tag("figcaption", tag("b", chart.title or chart.y_label), keys if len(keys) > 1 else None)
    return tag("figure", caption, chart_svg(chart), class_="chart")
