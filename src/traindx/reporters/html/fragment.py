"""Pieces of HTML for notebooks: no script, no style sheet, readable on light and dark, every name escaped.

`fragment` is the frame that every object shows itself in; `of_diagnosis` and `of_run` fill it."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.diagnosis import UNSURE, Diagnosis
from traindx.reading import Chart, Table
from traindx.reporters.html.markup import Html, block, tag
from traindx.reporters.html.plots import Plots, plots_of_curves, sentence, still
from traindx.reporters.html.svg import HEX, chart_svg
from traindx.reporters.html.verdict import in_code
from traindx.reporters.patch import recipe
from traindx.reporters.wording import (
    VERDICT_WORD,
    amount,
    clean,
    known_issue,
    leading,
    length_of,
    number,
    others,
    percent,
    placed,
    run_name,
    supports,
    title_of,
)
from traindx.run import Run

TONES = {
    "unhealthy": "#B3261E",
    "worse": "#B3261E",
    "inconclusive": "#815200",
    "healthy": "#146C3C",
    "helped": "#146C3C",
}
UNKNOWN_TONE = "#525C68"
MOST_SYMPTOMS, MOST_OTHERS, MOST_SERIES, MOST_SETTINGS = 3, 3, 8, 12  # a cell's output is saved with the notebook
MOST_CODE = 6  # lines of a fix that is no diff
COLUMNS = 16  # of a picture
_FRAME = "font:14px/1.5 system-ui,sans-serif;border:1px solid #8884;border-radius:8px;padding:12px 16px;max-width:860px"
_PILL = (
    "color:#fff;border-radius:99px;padding:1px 10px;font-size:11px;font-weight:700;letter-spacing:.05em;background:{}"
)
_MONO = "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px"
_SOFT = "opacity:.75;font-size:12.5px"


def fragment(title: str, parts: Sequence[Html | None], *, verdict: str = "", aside: str = "") -> str:
    """A framed piece of a notebook: a title with a coloured word before it, then the parts."""
    tone = TONES.get(verdict, UNKNOWN_TONE)
    pill = tag("span", VERDICT_WORD.get(verdict, verdict.upper()), style=_PILL.format(tone)) if verdict else None  # type: ignore[call-overload]
    head = tag("div", pill, " ", tag("b", title), " ", tag("span", aside, style=_SOFT), style="margin-bottom:6px")
    return str(tag("div", head, list(parts), style=_FRAME))


def table(given: Table) -> Html:
    """A small table with its own styles."""
    cell = "padding:1px 9px 1px 0;text-align:left"
    head = tag("tr", [tag("th", name, style=f"{cell};opacity:.75") for name in given.columns])
    rows = [tag("tr", [tag("td", _cell(value), style=cell) for value in row]) for row in given.rows]
    return tag("table", head, rows, style="border-collapse:collapse;font-size:12.5px;margin:6px 0")


def picture(chart: Chart) -> Html:
    """A chart with the key to its colours."""
    names = [
        tag("span", tag("span", "━ ", style=f"color:{HEX[place % len(HEX)]}"), line.name, style="margin-right:12px")
        for place, line in enumerate(chart.lines)
        if line.name
    ]
    return tag("div", tag("div", names, style="font-size:12px"), chart_svg(chart), style="max-width:640px")


def of_diagnosis(diagnosis: Diagnosis) -> str:
    """A diagnosis in one frame: answer, curve, symptoms, the likeliest cause with its fix, what to do next."""
    first = leading(diagnosis)
    parts: list[Html | None] = [tag("div", in_code(diagnosis.headline)), *_pictures(plots_of_curves(diagnosis))[:1]]
    present = diagnosis.present()
    if present and (first is None or first.confidence < UNSURE):  # else they are what speaks for the cause
        listed = [
            tag("li", tag("b", symptom.id, style=_MONO), " ", placed(symptom, diagnosis.run.axis))
            for symptom in present[:MOST_SYMPTOMS]
        ]
        parts.append(tag("ul", listed, style="margin:6px 0;padding-left:18px"))
    if first is not None:
        parts.append(
            tag(
                "div",
                tag("b", f"{percent(first.confidence)} {title_of(first)}"),
                " ",
                tag("span", first.cause, style=_MONO),
            )
        )
        sure = first.confidence >= UNSURE
        proof = [tag("li", "for: ", in_code(text)) for text in supports(diagnosis, first)] if sure else []
        proof = [tag("li", "line: ", in_code(f"`{clean(first.where)}`")), *proof] if sure and first.where else proof
        proof += [tag("li", "against: ", in_code(text)) for text in first.contradicts]
        parts.append(tag("ul", proof, style="margin:2px 0 6px;padding-left:18px"))
        if first.fix is not None and sure:
            code = f"{_MONO};background:#8881;padding:8px;border-radius:6px;overflow-x:auto;margin:4px 0"
            lines = recipe(first.fix)
            shown = lines if first.fix.diff or len(lines) <= MOST_CODE else [*lines[:MOST_CODE], "…"]
            parts += [tag("div", "fix: ", first.fix.title), block(shown, style=code)]
            if shown != lines:
                parts.append(tag("div", in_code(f"all of it: `traindx explain {first.fix.id}`"), style=_SOFT))
    parts += [tag("div", f"also {percent(h.confidence)}: {title_of(h)}") for h in diagnosis.also]
    parts += [tag("div", f"known issue: {known_issue(note)} {note.source}") for note in diagnosis.known_issues]
    rest = " · ".join(f"{title_of(h)} {percent(h.confidence)}" for h in others(diagnosis)[:MOST_OTHERS])
    parts.append(tag("div", "else: ", rest, style=_SOFT) if rest and diagnosis.verdict != "healthy" else None)
    parts.append(
        tag("div", tag("b", "next: "), in_code(diagnosis.next), style="margin-top:6px") if diagnosis.next else None
    )
    return fragment(run_name(diagnosis), parts, verdict=diagnosis.verdict, aside=length_of(diagnosis))


def of_run(run: Run) -> str:
    """A run in one frame: its curves, what was logged and how it was set. It says nothing of its health: that is a
    diagnosis."""
    from traindx.reporters.figure.choice import clock_of, panels_of
    from traindx.signals import Settings

    panels = tuple(panels_of(run, Settings()))
    plots = Plots(clock_of(panels), panels, (), (), (), 0)
    whole = [series for series in run.series.values() if len(series) and not series.meaning.where]
    layers = sum(bool(len(series) and series.meaning.where) for series in run.series.values())
    rows = [(clean(series.name), len(series), sentence(series).partition(": ")[2]) for series in whole]
    wide = max((len(row[0]) for row in rows[:MOST_SERIES]), default=0)
    lines = [f"{name:<{wide}}  {count:>7}  {said}" for name, count, said in rows[:MOST_SERIES]]
    shown = tag("pre", "\n".join(lines), style=f"{_MONO};margin:6px 0;overflow-x:auto")
    settings = [(key, str(value)) for key, value in sorted(run.config.items()) if value is not None]
    parts: list[Html | None] = [*_pictures(plots)[:1], shown if rows else tag("div", "Nothing was logged.")]
    more = [f"{len(rows) - MOST_SERIES} more"] if len(rows) > MOST_SERIES else []
    more += [f"{layers} series of single layers"] if layers else []
    parts.append(tag("div", f"and {', '.join(more)}", style=_SOFT) if more else None)
    if settings:
        text = "\n".join(f"{key} = {value}" for key, value in settings[:MOST_SETTINGS])
        parts.append(tag("details", tag("summary", amount(len(settings), "setting")), tag("pre", text, style=_MONO)))
    aside = f"{amount(run.length, run.axis)} · {run.format}"
    return fragment(f"{run.source} ({run.name})" if run.name else run.source, parts, aside=aside)


def _pictures(plots: Plots) -> list[Html]:
    return [picture(still(panel, plots.clock, COLUMNS)) for panel in plots.panels]


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return number(value) if isinstance(value, float) else str(value)
