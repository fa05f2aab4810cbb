"""What a cause looks like, as a small SVG for its page: the curves of the symptom it shows most and the sentences that
traindx says of them. The runs are the examples that the symptoms themselves are held to, so a picture cannot show what
is not found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from traindx.reporters.layout import shorten, wrap
from traindx.reporters.tokens import LIGHT
from traindx.reporters.wording import clean, number

if TYPE_CHECKING:
    from traindx.causes.base import Cause
    from traindx.run import Run, Series
    from traindx.symptoms.base import Symptom

WIDTH, PANEL, MARGIN = 680, 96, 16  # pixels
LETTERS = 92  # of a sentence's line
MOST_POINTS = 220
MOST_PANELS = 2
SENTENCES = 2
TITLE = 34  # pixels above the curves
LINE, GAP = 17, 46
TWO_DECADES = 100.0
LEAST_REACH = 0.4  # of its largest value: what a panel spans at least
_ORDER = ("always", "usually", "often", "sometimes")


def picture(cause: Cause) -> str:
    """The picture of one cause; '' where none of its symptoms has an example."""
    found = list(_examples(cause))
    if not found:
        return ""
    curved = [
        (symptom.kind == "curve" and symptom.severity == "problem", run) for symptom, run, _ in found if run.series
    ]
    drawn = max(curved, key=lambda one: one[0])[1] if curved else None
    explained = sorted(found, key=lambda one: not one[0].direct)[:1]
    explained += [one for one in found if one[1] is drawn and one not in explained]
    panels = _panels(drawn) if drawn is not None else []
    lines = [
        (place == 0, name if place == 0 else "", text)
        for symptom, _, sentence in explained[:SENTENCES]
        for name in (symptom.id,)
        for place, text in enumerate(wrap(sentence, LETTERS))
    ]
    top = TITLE + (PANEL + GAP if panels else 0)
    height = top + len(lines) * LINE + sum(first for first, _, _ in lines) * LINE + MARGIN
    parts = [*_title(cause), *_drawn(panels), *_sentences(lines, top)]
    box = f'<rect width="{WIDTH}" height="{height}" rx="10" fill="{LIGHT["card"]}" stroke="{LIGHT["line"]}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12">{box}{"".join(parts)}</svg>\n'
    )


def _examples(cause: Cause) -> Iterator[tuple[Symptom, Run, str]]:
    """The symptoms it shows, the surest first, each with the run of an example and what is said of that."""
    from traindx.signals import Signals
    from traindx.symptoms import symptoms

    known = symptoms()
    ranked = sorted(
        (one for one, often in cause.predicts.items() if often in _ORDER and one in known),
        key=lambda one: (_ORDER.index(cause.predicts[one]), not known[one].direct, one),
    )
    for identifier in ranked:
        symptom = known[identifier]
        for case in symptom.cases:
            if case.state == "present":
                run = case.run()
                yield symptom, run, clean(symptom.detect(Signals(run)).evidence)
                break


def _panels(run: Run) -> list[Series]:
    """The longest series, losses before the rest; what has one value draws nothing."""
    several = [one for one in run.series.values() if len(one.values) > 1]
    return sorted(several, key=lambda one: "loss" not in one.name)[:MOST_PANELS]


def _title(cause: Cause) -> list[str]:
    return [
        f'<text x="{MARGIN}" y="22" font-weight="700" fill="{LIGHT["bad"]}">{escape(cause.title)}</text>',
        f'<text x="{WIDTH - MARGIN}" y="22" text-anchor="end" fill="{LIGHT["soft"]}">{cause.id}</text>',
    ]


def _drawn(panels: Sequence[Series]) -> Iterator[str]:
    room = (WIDTH - 2 * MARGIN - (len(panels) - 1) * 2 * MARGIN) // max(len(panels), 1)
    for place, series in enumerate(panels):
        yield from _curve(series, MARGIN + place * (room + 2 * MARGIN), TITLE + 12, room, LIGHT[f"s{place}"])


def _curve(series: Series, left: int, top: int, width: int, color: str) -> Iterator[str]:
    """One series as a line with its ends and its extremes in numbers; what is not finite is a cross at the top."""
    stride = max(1, math.ceil(len(series.values) / MOST_POINTS))
    pairs = [(float(x), float(y)) for x, y in zip(series.steps[::stride], series.values[::stride], strict=True)]
    finite = [y for _, y in pairs if math.isfinite(y)]
    if not finite:
        return
    low, high = min(finite), max(finite)
    log = low > 0 and high / low > TWO_DECADES
    bottom, peak = (math.log10(low), math.log10(high)) if log else _scale(low, high)
    first, last = pairs[0][0], pairs[-1][0]

    def at(x: float, y: float) -> str:
        height = (math.log10(y) if log else y) - bottom
        down = 0.5 if peak == bottom else 1 - height / (peak - bottom)
        return f"{round(left + (x - first) / ((last - first) or 1) * width)},{round(top + down * PANEL)}"

    points = " ".join(at(x, y) for x, y in pairs if math.isfinite(y))
    name = shorten(clean(series.name), 40) + (", log scale" if log else "")
    yield _words(left, top - 4, name)
    yield f'<path d="M{left} {top + PANEL + 2}h{width}" stroke="{LIGHT["line"]}"/>'
    yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.6" stroke-linejoin="round"/>'
    yield from (
        f'<text x="{at(x, high).split(",")[0]}" y="{top + 10}" text-anchor="middle" fill="{LIGHT["bad"]}">×</text>'
        for x, y in pairs
        if not math.isfinite(y)
    )
    yield _words(left, top + PANEL + 17, f"{series.axis} {number(first)} to {number(last)}")
    yield _words(left + width, top + PANEL + 17, f"{number(low)} to {number(high)}", "end")


def _scale(low: float, high: float) -> tuple[float, float]:
    """The ends of the axis: noise around a level is not blown up to the height of the panel."""
    spare = max(0.0, LEAST_REACH * max(abs(low), abs(high)) - (high - low)) / 2
    return low - spare, high + spare


def _words(x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{LIGHT["soft"]}">{escape(text)}</text>'


def _sentences(lines: Sequence[tuple[bool, str, str]], top: int) -> Iterator[str]:
    y = top + 4
    for first, name, text in lines:
        if first:
            y += LINE
            yield f'<text x="{MARGIN}" y="{y}" font-weight="600" fill="{LIGHT["ink"]}">{escape(name)}</text>'
        y += LINE
        yield f'<text x="{MARGIN}" y="{y}" fill="{LIGHT["ink"]}">{escape(text)}</text>'


def files() -> dict[str, str]:
    """Every picture of docs/, by its path there."""
    from traindx.causes import causes

    drawn = {f"images/causes/{cause.id}.svg": picture(cause) for cause in causes().values()}
    return {path: svg for path, svg in drawn.items() if svg}
