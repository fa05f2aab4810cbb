"""`traindx explain`: the page of a symptom, a cause or a fix in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.talk import emit, is_terminal, width_of
from traindx.errors import EXIT_OK, TraindxError
from traindx.reporters.catalogue import pages_about, suggestion, titles

MAX_WIDTH = 100


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="ID", help="A symptom, cause or fix (lr-too-high), or words (need more epochs)."),
    ],
    why: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="What in this run speaks for and against the cause, and how much."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="With --why: for programs.")] = False,
) -> int:
    """Show the page of a symptom, a cause or a fix; with --why, the evidence about a cause in one run."""
    text = " ".join(words)
    if why is not None:
        from traindx.cli.why import explain_why

        return explain_why(why, text, as_json=json)
    if json:
        raise TraindxError("--json goes with --why RUN.", "The whole catalogue as JSON: traindx list --format json")
    pages = pages_about(text)
    if not pages:
        raise TraindxError(f"there is no symptom, cause or fix called {text!r}.", suggestion(text, titles()))
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
