"""`traindx cases`: the case book: past diagnoses, what was said of them, and what they teach."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from traindx.cli.gather import gather
from traindx.cli.manual import Uncut
from traindx.cli.talk import check_writable, emit, say
from traindx.errors import EXIT_OK, TraindxError
from traindx.reporters.wording import clean, percent

if TYPE_CHECKING:
    from traindx.casebook.case import Case
    from traindx.casebook.store import CaseBook

ResultT = TypeVar("ResultT")
app = typer.Typer(
    cls=Uncut, help="The case book: past diagnoses, what was confirmed, what they teach.", invoke_without_command=True
)
Number = Annotated[int, typer.Argument(metavar="ID", help="The number of the case.")]
Most = Annotated[int, typer.Option("--most", "-n", metavar="N", min=1, help="How many to show.")]


@app.callback()
def listing(
    context: typer.Context,
    no_prior: Annotated[bool, typer.Option("--no-prior", help="Stop confirmed cases from shifting the prior.")] = False,
    prior: Annotated[bool, typer.Option("--prior", help="Let them shift it again.")] = False,
    most: Most = 20,
) -> int:
    """The case book: past diagnoses, what was confirmed, what they teach."""
    if context.invoked_subcommand is not None:
        return EXIT_OK
    with _book() as book:
        if no_prior or prior:
            book.set("prior", "off" if no_prior else "on")
            say(f"confirmed cases {'no longer shift' if no_prior else 'shift'} the prior in {book.path}")
            return EXIT_OK
        cases = book.cases(most=most) if book.exists() else []
        if not cases:
            say(f"no case yet in {book.path}; every `traindx diagnose`, `run` and `probe` adds one.")
            return EXIT_OK
        emit(_table(cases))
        _say_prior(book)
    return EXIT_OK


@app.command("show")
def show(number: Number) -> int:
    """Everything about one case."""
    with _book() as book:
        case = book.get(number)
    lines = [
        f"case {case.id} · {clean(case.source)}{f' ({clean(case.name)})' if case.name else ''} · {case.created[:16]}"
    ]
    facts = [
        ("verdict", f"{case.verdict}: {clean(case.headline)}"), ("status", _status(case)),
        ("made by", f"{case.made_by}, seen {case.seen} times"),
        ("symptoms", ", ".join(case.present)), ("causes", ", ".join(f"{c} {percent(p)}" for c, p in case.hypotheses)),
        ("settings", ", ".join(f"{name} {_plain(value)}" for name, value in case.settings.items())), ("fix", case.fix),
        ("trials", "; ".join(f"{t.fix} for {t.cause}: {t.verdict} {clean(t.effect)}".strip() for t in case.trials)),
        ("note", clean(case.note)), ("from", clean(case.origin)),
    ]  # fmt: skip
    emit("\n".join([*lines, *(f"  {label:<9} {text}" for label, text in facts if text)]) + "\n")
    return EXIT_OK


@app.command("search")
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD…", help="All of them must occur.")], most: Most = 50
) -> int:
    """Cases in which all these words occur: names, symptoms, causes, notes."""
    with _book() as book:
        cases = book.cases(words=words, most=most) if book.exists() else []
    if not cases:
        say(f"no case has {' and '.join(map(repr, words))}.")
        return EXIT_OK
    emit(_table(cases))
    return EXIT_OK


@app.command("similar")
def similar_to(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A log or run directory.")], most: Most = 10
) -> int:
    """Past cases that resemble a run, by symptoms and settings."""
    from traindx.casebook.case import case_of
    from traindx.casebook.similar import similar
    from traindx.engine import diagnose

    (first, *_) = gather([run])
    with _book() as book:
        case = case_of(diagnose(first), "diagnose")
        found = similar(case, book.cases(most=5000) if book.exists() else [], most, least=0.1)
    if not found:
        say("no past case resembles it.")
        return EXIT_OK
    emit(_table([one.case for one in found], [f"{one.share * 100:.0f} %" for one in found]))
    return EXIT_OK


@app.command("confirm")
def confirm(
    number: Number,
    cause: Annotated[
        str | None, typer.Argument(metavar="CAUSE", help="What it was; the likeliest one unless given.")
    ] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="What to remember of it.")] = None,
) -> int:
    """Say that the diagnosis was right, or what it was instead; it counts in later diagnoses."""
    from traindx.causes import causes

    with _book() as book:
        stated = cause or book.get(number).likeliest or "healthy"
        if stated not in causes():
            raise TraindxError(f"There is no cause called {stated!r}.", "See: traindx list causes")
        changes: dict[str, str] = {"status": "confirmed", "cause": stated, **({"note": note[:400]} if note else {})}
        book.change(number, **changes)
    say(f"case {number}: confirmed {stated}; undo with: traindx cases reject {number}")
    return EXIT_OK


@app.command("reject")
def reject(number: Number, note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why.")] = None) -> int:
    """Say that the diagnosis was wrong, or take a confirmation back; it counts no more."""
    with _book() as book:
        changes: dict[str, str] = {"status": "rejected", "cause": "", **({"note": note[:400]} if note else {})}
        book.change(number, **changes)
    say(f"case {number}: rejected")
    return EXIT_OK


@app.command("note")
def note(number: Number, text: Annotated[list[str], typer.Argument(metavar="TEXT")]) -> int:
    """Write a note beside a case."""
    with _book() as book:
        book.change(number, note=" ".join(text)[:400])
    say(f"case {number}: noted")
    return EXIT_OK


@app.command("forget")
def forget(number: Number) -> int:
    """Remove a case for good."""
    with _book() as book:
        book.forget(number)
    say(f"case {number}: forgotten")
    return EXIT_OK


@app.command("init")
def init() -> int:
    """Begin a case book of this project, in .traindx/ here; it is used from here and below."""
    from traindx.casebook.places import FILE, FOLDER
    from traindx.casebook.store import CaseBook

    book = CaseBook(Path.cwd() / FOLDER / FILE)
    _guarded(book, book.create)
    say(f"the case book of this project is {book.path}")
    return EXIT_OK


@app.command("export")
def export(
    output: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines, one case a line.")],
    judged: Annotated[bool, typer.Option("--judged", help="Only cases that were confirmed or tried.")] = False,
) -> int:
    """Write the cases to a file, for the books of a team; directories are left out."""
    from traindx.casebook.exchange import export_lines

    check_writable(output)
    with _book() as book:
        cases = book.cases(judged=judged, most=20_000) if book.exists() else []
    emit(export_lines(cases[::-1]), output)
    say(f"wrote {len(cases)} cases to {output}")
    return EXIT_OK


@app.command("import")
def import_(path: Annotated[Path, typer.Argument(metavar="FILE", help="Made by `traindx cases export`.")]) -> int:
    """Take in the cases of another book; those already known are not doubled."""
    from traindx.casebook.exchange import read_export

    cases = read_export(path)
    with _book() as book:
        new, known = book.take_in(cases)
    say(f"{new} new cases from {path}, {known} known already")
    return EXIT_OK


@contextmanager
def _book() -> Iterator[CaseBook]:
    """The case book, whose faults become one sentence."""
    from traindx.casebook.places import VARIABLE, book_path
    from traindx.casebook.store import CaseBook

    path = book_path()
    if path is None:
        raise TraindxError(
            "The case book is off.", f"{VARIABLE}, .traindx/config.toml or a CI machine says so; see docs/cases.md."
        )
    book = CaseBook(path)
    try:
        yield book
    except FileNotFoundError:
        raise TraindxError(f"There is no case yet: {path} does not exist.", "Diagnose a run first.") from None
    except (sqlite3.Error, OSError) as error:
        raise TraindxError(
            f"The case book {path} cannot be used: {error}.", "Move the file away to begin a new one, or free it."
        ) from error


def _guarded(book: CaseBook, do: Callable[[], ResultT]) -> ResultT:
    try:
        return do()
    except (sqlite3.Error, OSError) as error:
        raise TraindxError(
            f"The case book {book.path} cannot be made: {error}.", "Choose another directory."
        ) from error


def _table(cases: list[Case], likeness: list[str] | None = None) -> str:
    from traindx.reporters.layout import shorten, table

    rows = [["case", "date", "run", "verdict", "cause", "status", "trials", *(["alike"] if likeness else [])]]
    for place, case in enumerate(cases):
        label = clean(f"{Path(case.source).name} ({case.name})" if case.name else case.source)
        trials = ", ".join(f"{trial.fix} {trial.verdict}" for trial in case.trials[:2])
        stated = [
            str(case.id),
            case.created[:10],
            shorten(label, 36),
            case.verdict,
            case.likeliest,
            _status(case),
            trials,
        ]
        rows.append([*stated, *([likeness[place]] if likeness else [])])
    return "\n".join(table(rows, right=frozenset({"case", "alike"}))) + "\n"


def _status(case: Case) -> str:
    return (
        f"{case.status} {case.cause}".strip()
        if case.status == "confirmed" and case.cause != case.likeliest
        else case.status
    )


def _plain(value: str | float) -> str:
    return clean(value) if isinstance(value, str) else f"{value:g}"


def _say_prior(book: CaseBook) -> None:
    """Which causes later diagnoses hold for likelier, and by how much."""
    from math import exp

    from traindx.casebook.prior import prior_hints

    if book.setting("prior", "on") != "on":
        say("confirmed cases do not shift the prior; again: traindx cases --prior")
        return
    hints = prior_hints(book.cases(judged=True, most=1000))
    if hints:
        shifts = ", ".join(f"{hint.cause} × {exp(hint.log_odds):.2g}" for hint in hints)
        say(f"confirmed cases make likelier: {shifts} (odds); undo with: traindx cases --no-prior")
