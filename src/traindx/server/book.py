"""The case book as a page: what was diagnosed before, what was confirmed, which fixes helped."""

from __future__ import annotations

from traindx.casebook.case import Case
from traindx.casebook.places import book_path
from traindx.casebook.store import CaseBook
from traindx.reporters.html.markup import Html, tag
from traindx.reporters.wording import percent
from traindx.server.pages import framed, message

MOST_CASES = 300
_TONES = {"confirmed": "healthy", "rejected": "unhealthy", "open": "inconclusive"}


def cases_page() -> str:
    """The newest cases of the book this machine uses; read-only, like everything here."""
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
            for name in ("case", "date", "run", "verdict", "cause", "status", "trials", "note")
        ],
    )
    body = tag(
        "section",
        tag("h1", "Case book"),
        tag("p", f"Recent diagnoses: {len(cases)}. Confirm one with ", tag("code", "traindx cases confirm NUMBER"), ".",
            class_="lead"),
        tag("div", tag("table", tag("thead", head), tag("tbody", [_row(case) for case in cases])), class_="table",
            tabindex=0, role="region", aria_label="cases"),
        class_="card",
    )  # fmt: skip
    return framed("case book · traindx", body, (("All runs", "/"),))


def _row(case: Case) -> Html:
    likeliest = next(((cause, sure) for cause, sure in case.hypotheses if cause not in ("healthy", "other")), None)
    cause = case.cause or (f"{likeliest[0]} {percent(likeliest[1])}" if likeliest and case.verdict != "healthy" else "")
    trials = ", ".join(f"{trial.fix}: {trial.verdict}" for trial in case.trials)
    return tag(
        "tr",
        tag("td", str(case.id), class_="number"),
        tag("td", case.created[:10], class_="when"),
        tag("td", f"{case.source} ({case.name})" if case.name else case.source, class_="wrap"),
        tag("td", tag("span", case.verdict, class_=f"pill {case.verdict}")),
        tag("td", cause, class_="id"),
        tag("td", tag("span", case.status, class_=f"pill {_TONES[case.status]}")),
        tag("td", trials),
        tag("td", case.note, class_="wrap"),
    )
