"""The dashboard's pages, made of the components of the HTML report."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote
from zlib import crc32

from traindx.reporters.html.document import SCRIPTS, asset, document, policy, style
from traindx.reporters.html.markup import Html, inner, json_block, tag
from traindx.reporters.html.report import Case, run_section
from traindx.reporters.html.verdict import in_code
from traindx.reporters.wording import VERDICT_WORD, amount, run_name
from traindx.server.shelf import Opened, Shelf
from traindx.version import __version__

ASSETS = Path(__file__).parent / "assets"
ROWS_WITHOUT_SCRIPT = 100
EMPTY = (
    "Record a training in this directory with `traindx run train.py`, or start `traindx serve` where your logs lie. "
    "Runs appear here by themselves."
)
STYLE = style() + (ASSETS / "dashboard.css").read_text(encoding="utf-8")
SCRIPT = asset(*SCRIPTS) + (ASSETS / "dashboard.js").read_text(encoding="utf-8")
POLICY = policy(STYLE, SCRIPT, "'self'") + "; frame-ancestors 'none'"


def framed(title: str, body: Html, navigation: tuple[tuple[str, str], ...] = ()) -> str:
    """A page of the dashboard."""
    footer = f"traindx {__version__} on this machine. Read-only: it changes nothing and sends nothing elsewhere."
    return document(
        title, body, script=SCRIPT, style=STYLE, navigation=navigation, home="/", connect="'self'", footer=footer
    )


def index(shelf: Shelf) -> str:
    """All runs, those that need attention first."""
    rows = shelf.rows()
    head = (
        ("verdict", "order"),
        ("run", "name"),
        ("curve", ""),
        ("last value", "loss"),
        ("learning rate", "lr"),
        ("most likely", "cause"),
        ("length", "length"),
        ("duration", "seconds"),
        ("changed", "changed"),
    )
    titles = [
        tag("th", tag("button", name, type="button", class_="sort", data_sort=key) if key else name, scope="col")
        for name, key in head
    ]
    listed = [_row(row) for row in rows[:ROWS_WITHOUT_SCRIPT]]
    table = tag(
        "table",
        tag("thead", tag("tr", tag("th", tag("span", "compare", class_="unseen"), scope="col"), titles)),
        tag("tbody", listed, data_rows=True),
        class_="runs",
    )
    body = inner(
        tag(
            "section",
            tag("div", tag("h1", "Runs"), tag("span", str(shelf.folder.resolve()), class_="mono soft"), class_="name"),
            tag("p", _tally(rows), class_="lead", data_tally=True, aria_live="polite"),
            tag("p", in_code(EMPTY), class_="soft", data_empty=True, hidden=bool(rows)),
            tag(
                "div",
                tag("label", tag("span", "filter", class_="unseen"),
                    tag("input", type="search", placeholder="filter by name, cause, symptom", data_filter=True)),
                tag("span", [tag("button", word, type="button", class_="button", data_verdict=word,
                                 aria_pressed="false") for word in ("unhealthy", "inconclusive", "healthy", "live")],
                                 role="group", aria_label="Show only", class_="group"),
                tag("span", class_="spring"),
                tag("button", "compare chosen", type="button", class_="button", data_compare=True, disabled=True),
                class_="tools", data_full=True, hidden=not rows,
            ),
            tag("div", table, class_="table", tabindex=0, role="region", aria_label="runs", data_full=True,
                hidden=not rows),
            tag("div", tag("button", "show more", type="button", class_="button", data_more_rows=True, hidden=True),
                class_="tools"),
            _problems(shelf.problems()),
            class_="card",
        ),
        json_block("runs", {"version": shelf.version, "rows": rows}),
    )  # fmt: skip
    return framed("runs · traindx", body, (("Case book", "/cases"),))


def _tally(rows: list[dict[str, Any]]) -> str:
    amounts = {
        word: sum(row["verdict"] == word for row in rows)
        for word in ("unhealthy", "inconclusive", "healthy", "waiting")
    }
    live = sum(bool(row.get("live")) for row in rows)
    parts = [f"{count} {word}" for word, count in amounts.items() if count and word != "waiting"]
    parts += [f"{live} in progress"] if live else []
    parts += [f"{amounts['waiting']} still to be read"] if amounts["waiting"] else []
    return f"{amount(len(rows), 'run')}: {', '.join(parts) or 'none found here yet'}"


def _row(row: dict[str, Any]) -> Html:
    """A row for browsers without script; the script lays out the same ones from the data."""
    name = tag("a", row["name"], href=f"/run/{quote(row['id'])}") if row["id"] else row["name"]
    return tag(
        "tr",
        tag("td"),
        tag("td", tag("span", row["verdict"], class_=f"pill {row['verdict']}")),
        tag("td", name, class_="wrap"),
        tag("td"),
        tag("td", _text(row, "loss")),
        tag("td", _text(row, "lr")),
        tag("td", f"{row['cause']} {row['percent']}" if row.get("cause") else ""),
        tag("td", row.get("length", "")),
        tag("td"),
        tag("td"),
    )


def _text(row: dict[str, Any], name: str) -> str:
    shown = row.get(name)
    return "" if shown is None or (shown["text"] == "NaN" and name != "loss") else str(shown["text"])


def _problems(problems: list[str]) -> Html | None:
    if not problems:
        return None
    listed = tag("ul", [tag("li", problem) for problem in problems[:200]], class_="lines small")
    return tag("details", tag("summary", f"{amount(len(problems), 'file')} could not be read"), listed)


def run_page(identifier: str, opened: Opened) -> str:
    """One run: the report, kept up to date."""
    body = run_section(Case(opened.diagnosis, opened.run), "run", "h1", plots=opened.plots)
    title = f"{VERDICT_WORD[opened.diagnosis.verdict].lower()}: {run_name(opened.diagnosis)} · traindx"
    live = tag(
        "p",
        tag("span", "● in progress", class_="live") if opened.live else "",
        class_="small",
        data_live=f"/run/{quote(identifier)}",
        data_mark=mark_of(opened),
    )
    return framed(title, inner(live, *body.parts), (("All runs", "/"), *body.navigation))


def run_part(opened: Opened) -> str:
    """The part of a run's page that changes, for a page that is already open."""
    return inner(*run_section(Case(opened.diagnosis, opened.run), "run", "h1", plots=opened.plots).parts)


def mark_of(opened: Opened) -> str:
    """Changes with the run's files."""
    return str(crc32(repr((opened.mark, opened.live)).encode()))


def message(title: str, text: str) -> str:
    body = tag("section", tag("h1", title), tag("p", text), tag("p", tag("a", "All runs", href="/")), class_="card")
    return framed(f"{title} · traindx", body)
