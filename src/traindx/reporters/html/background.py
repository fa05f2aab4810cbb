"""The rest of the page: probes, trials and other sections, how sure it is, settings, and the bundle for an issue."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

from traindx.diagnosis import UNSURE, Diagnosis
from traindx.reading import Cell, Chart, Line, Mark, Reading, Table
from traindx.reporters.html.extras import Reliability, Section
from traindx.reporters.html.markup import Html, inner, tag
from traindx.reporters.html.svg import chart_figure
from traindx.reporters.html.verdict import code, in_code
from traindx.reporters.markdown import block as fenced
from traindx.reporters.markdown import render as markdown
from traindx.reporters.wording import clean, clean_lines, notes_of, number
from traindx.run import Run

MOST_ROWS = 300  # of a probe's table
FOLDED_FROM = 14  # rows from which a table is folded away
_ENVIRONMENT = ("recording.", "device", "world_size", "python", "torch", "cuda", "hardware", "platform", "gpu", "host",
                "os", "num_workers", "pin_memory")  # fmt: skip


def readings_section(readings: Sequence[Reading]) -> Html | None:
    """What probes measured: a sentence, tables and charts each."""
    if not readings:
        return None
    return tag(
        "section",
        tag("h2", "Probes"),
        [
            tag(
                "div",
                tag("h3", reading.probe, tag("span", f" {reading.seconds:.1f} s",
                                             class_="soft small") if reading.seconds >= 0.1 else None),
                tag("p", in_code(reading.summary)),
                _shown(reading.tables, reading.charts),
                [tag("p", f"Not measured: {reason}", class_="soft small") for reason in reading.unknown],
                class_="map",
            )
            for reading in readings
        ],
        class_="card",
    )  # fmt: skip


def sections(given: Sequence[Section], run_id: str) -> list[Html]:
    """Sections that another command describes: trials of fixes, a comparison."""
    return [
        tag(
            "section",
            tag("h2", section.title, " ", tag("span", section.verdict,
                                              class_=f"pill {section.tone}") if section.verdict else None),
            [tag("p", in_code(text)) for text in section.text],
            code(clean_lines(section.diff), f"{run_id}-diff-{place}") if section.diff else None,
            _shown(section.tables, section.charts),
            class_="card",
        )
        for place, section in enumerate(given)
    ]  # fmt: skip


def _shown(tables: Sequence[Table], charts: Sequence[Chart]) -> Html:
    return inner(
        tag("div", [chart_figure(chart) for chart in charts], class_="grid2") if charts else None,
        [table_html(table) for table in tables],
    )


def table_html(table: Table) -> Html:
    """A table of a probe or a trial; of a very long one the beginning and the end."""
    numeric = [all(isinstance(row[i], int | float | None) for row in table.rows) for i in range(len(table.columns))]
    rows: list[tuple[Cell, ...]] = list(table.rows)
    if len(rows) > MOST_ROWS:
        left = f"… {len(rows) - MOST_ROWS} more"
        rows = [*rows[: MOST_ROWS // 2], (left, *("" for _ in table.columns[1:])), *rows[-MOST_ROWS // 2 :]]
    head = [
        tag("th", name, scope="col", class_="number" if right else None)
        for name, right in zip(table.columns, numeric, strict=True)
    ]
    body = [
        tag(
            "tr",
            [
                tag("td", _cell(cell), class_="number" if right else "cell")
                for cell, right in zip(row, numeric, strict=True)
            ],
        )
        for row in rows
    ]
    label = clean(table.title or ", ".join(table.columns))
    grid = tag("table", tag("thead", tag("tr", head)), tag("tbody", body))
    region = tag("div", grid, class_="table", tabindex=0, role="region", aria_label=label)
    if len(rows) >= FOLDED_FROM:
        return tag("details", tag("summary", label, tag("span", f" {len(table.rows)} rows", class_="soft")), region)
    return inner(tag("p", table.title, class_="soft small") if table.title else None, region)


def _cell(cell: Cell) -> str:
    if cell is None:
        return "–"
    return cell if isinstance(cell, str) else number(float(cell))


def confidence(reliability: Reliability | None) -> Html:
    """How the percentages are made, and how well they have held where that was measured."""
    how = (
        "Every cause of the catalogue, healthy and something else are explanations that exclude each other. What was "
        "seen raises "
        "those that predict it, what was looked for and not seen lowers them, and what could not be measured moves "
        "nothing; the "
        "percentages add up to 100. No evidence makes a cause certain, and below 40 % no change is proposed."
    )
    parts = [tag("p", how, class_="small")]
    if reliability is not None and reliability.bins:
        bins = reliability.bins
        even = Line("as sure as right", (0.0, 1.0), (0.0, 1.0), "faint")
        held = Line("measured", tuple(b.confidence for b in bins), tuple(b.right for b in bins), "points")
        from_here = (Mark(UNSURE, "changes are proposed from here on"),)
        chart = Chart("Confidence and how often it was right", "confidence", "share right", (held, even), from_here)
        rows = tuple((f"{b.confidence:.0%}", f"{b.right:.0%}", b.count) for b in bins)
        table = table_html(Table("", ("confidence", "right", "diagnoses"), rows))
        parts.append(tag("p", reliability.source, class_="small soft"))
        parts.append(tag("div", chart_figure(chart), table, class_="confidence"))
    return tag("section", tag("details", tag("summary", tag("h2", "How sure is this?")), parts), class_="card")


def setup(diagnosis: Diagnosis, run: Run | None) -> Html:
    """Settings and surroundings of the training, what happened to it, and what could not be read."""
    settings = {key: value for key, value in diagnosis.run.config.items() if value is not None}
    around = {key: value for key, value in settings.items() if key.lower().startswith(_ENVIRONMENT)}
    own = {key: value for key, value in settings.items() if key not in around}
    around = {
        "source": diagnosis.run.source,
        "format": diagnosis.run.format,
        "judged by": _judged_by(diagnosis),
        **around,
    }
    around |= {"report": f"traindx {diagnosis.version}, Python {platform.python_version()}"}
    events = list(run.events) if run is not None else []
    return tag(
        "section",
        tag("h2", "Configuration and environment"),
        _settings(own) if own else tag("p", "The log holds no settings; they may lie in a file of their own: --config "
                                            "FILE.", class_="soft small"),
        tag("details", tag("summary", "Environment"), _settings(around), open=not own),
        _events(events),
        _asked(diagnosis),
        tag("details", tag("summary", "Notes"), tag("ul", [tag("li", note) for note in notes_of(diagnosis)],
                                                    class_="lines small")) if notes_of(diagnosis) else None,
        class_="card",
    )  # fmt: skip


def _asked(diagnosis: Diagnosis) -> Html | None:
    """The interview behind the page."""
    lines = [tag("li", asked, " → ", tag("b", answer)) for asked, answer in diagnosis.asked]
    return tag("details", tag("summary", "Questions asked"), tag("ol", lines, class_="lines small")) if lines else None


def _events(events: Sequence[Any]) -> Html | None:
    if not events:
        return None
    rows = [
        tag("li", tag("b", event.kind, f" at step {event.step:g}" if event.step is not None else ""),
            code(clean_lines(event.text)) if "\n" in event.text.strip() else inner(": ", event.text))
        for event in events[:20]
    ]  # fmt: skip
    serious = any(event.kind in ("traceback", "oom", "killed", "dataloader") for event in events)
    return tag("details", tag("summary", "What happened"), tag("ul", rows, class_="lines small"), open=serious)


def _settings(settings: dict[str, Any]) -> Html:
    return tag(
        "dl",
        [tag("div", tag("dt", key), tag("dd", _value(value))) for key, value in sorted(settings.items())],
        class_="settings",
    )


def _value(value: Any) -> str:
    return number(value, 6) if isinstance(value, float) else str(value)


def issue(diagnosis: Diagnosis, run_id: str) -> Html:
    """The same page as Markdown with the settings, to be pasted into an issue or a chat."""
    settings = [
        f"{clean(str(key))} = {clean(_value(value))}"
        for key, value in sorted(diagnosis.run.config.items())
        if value is not None
    ]
    text = markdown([diagnosis], color=False, width=100)
    if settings:
        text += "\n<details><summary>Settings</summary>\n\n" + fenced(settings, "text") + "\n\n</details>\n"
    name = f"{run_id}-markdown"
    return tag(
        "section",
        tag("h2", "For an issue"),
        tag("p", "The diagnosis as Markdown, with the settings. Look it over before you post it: names and values come "
                 "from your run.", class_="lead small"),
        tag("div", tag("button", "copy as issue", type="button", class_="button", data_copy=name, hidden=True),
            class_="tools"),
        tag("textarea", Html("\n".join(inner(line) for line in text.split("\n"))), class_="issue", id=name,
            readonly=True, aria_label="Markdown of this diagnosis", spellcheck="false"),
        class_="card",
    )  # fmt: skip


def _judged_by(diagnosis: Diagnosis) -> str:
    run = diagnosis.run
    return f"{run.objective} ({run.chosen_by})" if run.objective and run.chosen_by else run.objective or "–"
