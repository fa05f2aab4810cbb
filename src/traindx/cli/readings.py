"""Show what probes and checkpoints measured, with the diagnosis that follows from it: on the page, as JSON, as a
picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traindx.cli.talk import FILE_WIDTH, cannot_write, check_writable, color_wanted, emit, say, width_of

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.reading import Reading
    from traindx.reporters.base import Reporter
    from traindx.run import Run

Plot = Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw what was measured.")]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Write readings and diagnosis as JSON.")]
AddTo = Annotated[
    Path | None, typer.Option(metavar="RUN.traindx", help="Add the findings to this recording and diagnose it.")
]


def check_places(output: Path | None, plot: Path | None, json: Path | None, add_to: Path | None) -> None:
    """Refuse before the long work what could not be written after it."""
    for place in (output, plot, json):
        check_writable(place)
    if plot is not None:
        from traindx.reporters.figure import require_drawing

        require_drawing()
    if add_to is not None:
        from traindx.live.recording.adding import require_recording

        require_recording(add_to)


def show(
    readings: Sequence[Reading], page: Diagnosis, reporter: Reporter, output: Path | None, run: Run | None = None,
    verbose: bool = False,
) -> None:  # fmt: skip
    """The page, then what was measured: a sentence a reading, or the tables of the only one; `verbose` shows every
    table. JSON has a file of its own for it."""
    from traindx.reporters.markdown import block
    from traindx.reporters.readings import brief, render

    color = output is None and color_wanted(sys.stdout)
    width = FILE_WIDTH if output is not None else width_of(sys.stdout)
    if reporter.flag == "html":
        from traindx.reporters import html
        from traindx.reporters.html.extras import Extras

        emit(html.page(page, run, Extras(readings=tuple(readings))), output)
        return
    text = reporter.render([page], color=color, width=width)
    if reporter.flag == "text":
        shown = render if verbose or len(readings) == 1 else brief
        text += "\n" + shown(readings, color=color, width=width)
    elif reporter.flag == "md":
        text += "\n" + block(render(readings, color=False, width=width).rstrip().split("\n")) + "\n"
    emit(text, output)


def draw(readings: Sequence[Reading], plot: Path) -> None:
    from traindx.reporters.figure.chart import draw_readings

    try:
        say(f"wrote {draw_readings(readings, plot)}")
    except OSError as error:
        raise cannot_write(plot, error) from error


def as_json(readings: Sequence[Reading], page: Diagnosis) -> str:
    """Readings and the diagnosis in one document."""
    import json

    import msgspec

    from traindx.symptoms.observed import stated

    whole: dict[str, Any] = {
        "schema": "traindx.probe/1",
        "readings": [{**reading.to_json(), "facts": msgspec.to_builtins(stated(reading))} for reading in readings],
        "diagnosis": page.to_json(),
    }
    return json.dumps(whole, indent=2) + "\n"
