"""`traindx compare`: what differs between runs, which is better, and what explains it."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from traindx.cli.diagnose import Goal
from traindx.cli.talk import FILE_WIDTH, Bar, cannot_write, check_writable, color_wanted, emit, say, width_of
from traindx.errors import EXIT_OK

if TYPE_CHECKING:
    from traindx.comparison.result import Alignment


class Shape(StrEnum):
    """How the comparison is written."""

    text = "text"
    md = "md"
    json = "json"
    html = "html"


class Axis(StrEnum):
    """What the curves are laid over each other by."""

    auto = "auto"
    step = "step"
    epoch = "epoch"
    progress = "progress"
    time = "time"


class By(StrEnum):
    """Which level of a run counts."""

    best = "best"
    final = "final"


class Where(StrEnum):
    """Where the runs are read."""

    local = "local"
    ray = "ray"


_ENDINGS = {".md": Shape.md, ".json": Shape.json, ".html": Shape.html, ".htm": Shape.html}


def command(
    paths: Annotated[
        list[Path], typer.Argument(metavar="RUN… | DIR", help="Logs and run directories, of any formats.")
    ],
    format: Annotated[Shape | None, typer.Option("--format", "-f", help="text, or what the ending of -o says.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it here; .md, .json, .html and .png say how."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw the curves over each other.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="The metric to compare by.")] = None,
    goal: Annotated[Goal | None, typer.Option(help="Whether that metric should fall or rise.")] = None,
    by: Annotated[By | None, typer.Option(help="Compare the best level held, or the final one (of two sides).")] = None,
    align: Annotated[Axis, typer.Option(help="What the curves are laid over each other by.")] = Axis.auto,
    executor: Annotated[Where, typer.Option(help="Where the runs are read.")] = Where.local,
    address: Annotated[str | None, typer.Option(metavar="HOST", help="With --executor ray: the cluster.")] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes on this machine.")] = None,
) -> int:
    """Compare runs: what differs, which is better, what explains it; for two runs, whether the change helped."""
    if output is not None and plot is None and format is None and output.suffix.lower() == ".png":
        output, plot = None, output  # a picture is asked for, by its ending
    for place in (output, plot):
        check_writable(place)
    if plot is not None:
        from traindx.reporters.figure import require_drawing

        require_drawing()
    from traindx.fleet import compare

    with Bar("looking for runs") as bar:
        comparison = compare(
            paths, metric=metric, goal=None if goal is None else goal.value, outcome=None if by is None else by.value,
            align=cast("Alignment | None", None if align is Axis.auto else align.value), executor=executor.value,
            workers=workers, address=address,
            progress=bar,
        )  # fmt: skip
    if plot is not None:
        try:
            say(f"wrote {comparison.plot(plot)}")
        except OSError as error:
            raise cannot_write(plot, error) from error
    shape = format or (_ENDINGS.get(output.suffix.lower(), Shape.text) if output is not None else Shape.text)
    if shape is Shape.text:
        from traindx.reporters.comparison.text import as_text

        color = output is None and color_wanted(sys.stdout)
        width = FILE_WIDTH if output is not None else width_of(sys.stdout)
        emit(as_text(comparison.findings, color=color, width=width), output)
    else:
        emit({Shape.md: comparison.markdown, Shape.json: comparison.json, Shape.html: comparison.html}[shape](), output)
    if comparison.findings.unreadable and shape is not Shape.text:
        say(f"{len(comparison.findings.unreadable)} could not be read; the report names them.")
    return EXIT_OK
