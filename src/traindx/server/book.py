"""The case book as a page: what was diagnosed before, what was confirmed, which fixes helped."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from traindx.casebook.case import Case
from traindx.casebook.places import book_path
from traindx.casebook.store import CaseBook
from traindx.reporters.html.markup import Html, inner, tag
from traindx.reporters.wording import percent
from traindx.server.pages import framed, message

MOST_CASES = 300
_TONES = {"confirmed": "healthy", "rejected": "unhealthy", "open": "inconclusive"}


def cases_page(pages: Mapping[tuple[str, str], str]) -> str:
    """The newest cases of the book this machine uses; read-only, like everything here. `pages` are those of the runs
    that lie here, by source and name."""
    path = book_path()
    book = CaseBook(path) if path is not None else None
    if book is None or not book.exists():
        return message(
            "Case book", "There is no case book here yet. Every `traindx diagnose` adds to it, unless it is turned off."
        )
    cases = book.cases(most=MOST_CASES)
    head = tag(
        "tr",
        [
            tag("th", name, scope="col")
            for name in ("case", "date", "run", "verdict", "cause", "status", "confirm", "trials", "note")
        ],
    )
    body = tag(
        "section",
        tag("h1", "Case book"),
        tag("p", f"Recent diagnoses: {len(cases)}. Confirm one with ", tag("code", "traindx cases confirm NUMBER"), ".",
            class_="lead"),
        tag("div", tag("table", tag("thead", head), tag("tbody", [_row(case, pages) for case in cases])),
            class_="table",
            tabindex=0, role="region", aria_label="cases"),
        class_="card",
    )  # fmt: skip
    return framed("case book · traindx", body, (("All runs", "/"),))


def _row(case: Case, pages: Mapping[tuple[str, str], str]) -> Html:
    likeliest = next(((cause, sure) for cause, sure in case.hypotheses if cause not in ("healthy", "other")), None)
    cause = case.cause or (f"{likeliest[0]} {percent(likeliest[1])}" if likeliest and case.verdict != "healthy" else "")
    trials = ", ".join(f"{trial.fix}: {trial.verdict}" for trial in case.trials)
    run = f"{case.source} ({case.name})" if case.name else case.source
    page = pages.get((case.source, case.name), "")
    return tag(
        "tr",
        tag("td", str(case.id), class_="number"),
        tag("td", case.created[:10], class_="when"),
        tag("td", tag("a", run, href=f"/run/{quote(page)}") if page else run, class_="wrap"),
        tag("td", tag("span", case.verdict, class_=f"pill {case.verdict}")),
        tag("td", cause, class_="id"),
        tag("td", tag("span", case.status, class_=f"pill {_TONES[case.status]}")),
        tag("td", _confirm(case)),
        tag("td", trials),
        tag("td", case.note, class_="wrap"),
    )


def _confirm(case: Case) -> Html | None:
    """What to type, ready to be copied: the server itself writes nothing."""
    if case.status != "open" or case.verdict == "healthy":
        return None
    name = f"confirm-{case.id}"
    command = tag("code", f"traindx cases confirm {case.id}", id=name)
    return inner(command, " ", tag("button", "copy", type="button", class_="button", data_copy=name, hidden=True))
