"""`traindx explain`: the page of a symptom, a cause or a fix in the terminal."""

from __future__ import annotations

import difflib
import re
import sys
from typing import Annotated

import typer

from traindx.cli.talk import emit, is_terminal, width_of
from traindx.errors import EXIT_OK, TraindxError

MAX_WIDTH = 100
_FILLERS = frozenset(
    {
        "a",
        "an",
        "and",
        "do",
        "i",
        "in",
        "is",
        "it",
        "just",
        "m",
        "my",
        "of",
        "on",
        "so",
        "the",
        "to",
        "too",
        "very",
        "you",
    }
)
_SIMILAR = 0.5  # how alike two ids must be to be worth suggesting


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="ID", help="A symptom, cause or fix (lr-too-high), or words (need more epochs)."),
    ],
) -> int:
    """Show the page of a symptom, a cause or a fix."""
    text = " ".join(words)
    pages = _pages(re.sub(r"[\s_]+", "-", text.strip().lower())) or _said(text)
    if not pages:
        raise TraindxError(f"there is no symptom, cause or fix called {text!r}.", _suggestion(text))
    show("\n\n---\n\n".join(pages))
    return EXIT_OK


def show(markdown: str) -> None:
    """Rendered on a terminal, plain Markdown everywhere else."""
    if not is_terminal(sys.stdout):
        emit(f"{markdown.rstrip()}\n")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(width=min(width_of(sys.stdout), MAX_WIDTH), force_terminal=True)
    with console.capture() as capture:
        console.print(Markdown(markdown, code_theme="ansi_dark"))
    emit(capture.get())


def _pages(identifier: str) -> list[str]:
    """All pages of this id: some stand in two lists, and both are worth reading."""
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.reporters.pages import cause_page, fix_page, named, symptom_page
    from traindx.symptoms import symptoms

    pages = []
    if identifier in symptoms():
        pages.append(symptom_page(symptoms()[identifier], named))
    if identifier in causes():
        pages.append(cause_page(causes()[identifier], named))
    if identifier in fixes():
        pages.append(fix_page(fixes()[identifier], named))
    return pages


def _said(text: str) -> list[str]:
    """For a sentence people say about a training: what they think it is, what it usually is, and the check that tells."""
    from traindx.misdiagnoses import misdiagnoses

    wanted = _words(text)
    rows = [row for row in misdiagnoses() if len(wanted) > 1 and wanted <= _words(f"{row.says} {row.thinks}")]
    return [
        f"# “{row.says}”\n\n- thought: {row.thinks}\n- usually: {row.usually}\n- how to tell: {row.check}\n"
        for row in rows
    ]


def _words(text: str) -> set[str]:
    """The words that carry meaning, without their plural."""
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _FILLERS}


def _suggestion(text: str) -> str:
    from traindx.causes import causes
    from traindx.fixes import fixes
    from traindx.symptoms import symptoms

    titles: dict[str, str] = {}
    for units in (symptoms(), causes(), fixes()):
        for unit in units.values():
            titles[unit.id] = unit.title
    return suggestion(text, titles)


def suggestion(text: str, titles: dict[str, str]) -> str:
    """The nearest ids, by spelling and by words shared with the title."""
    wanted = _words(text)
    shared = {name: len(wanted & _words(f"{name} {title}")) for name, title in titles.items()}
    by_words = sorted((name for name in titles if shared[name]), key=lambda name: (-shared[name], name))
    close = difflib.get_close_matches(text.lower(), titles, n=3, cutoff=_SIMILAR)
    near = list(dict.fromkeys([*close, *by_words]))[:4]
    if near:
        return f"Did you mean {', '.join(near)}? `traindx list` shows all."
    return "`traindx list` shows all."
