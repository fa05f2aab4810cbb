"""`traindx checkpoint`: measure saved weights and optimiser state, compare two checkpoints, and diagnose what they show."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli.diagnose import Format, Output, exit_code, reporter_for
from traindx.cli.talk import FILE_WIDTH, Bar, cannot_write, check_writable, color_wanted, emit, say, width_of
from traindx.errors import TraindxError

if TYPE_CHECKING:
    from traindx.checkpoints.layers import Measured
    from traindx.diagnosis import Diagnosis
    from traindx.reading import Reading
    from traindx.reporters.base import Reporter
    from traindx.run import Fact, Run


def command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE_OR_DIR",
            help="A checkpoint: safetensors, .pt, .ckpt, .npz, a Hugging Face directory; two to compare them.",
        ),
    ],
    format: Format = None,
    output: Output = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw weights, updates and changes, layer by layer.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write layers, facts and diagnosis as JSON.")
    ] = None,
    add_to: Annotated[
        Path | None, typer.Option(metavar="RUN.traindx", help="Add the findings to this recording and diagnose it.")
    ] = None,
) -> int:
    """Look into a checkpoint without its code: nothing is unpickled, nothing executed."""
    if len(paths) > 2:
        raise typer.BadParameter(
            f"{len(paths)} were given; one is looked at, two are compared.", param_hint="FILE_OR_DIR"
        )
    if add_to is not None and not (add_to / "rank-0.jsonl").is_file():
        raise TraindxError(f"{add_to} is no recording of traindx.", "Make one with: traindx run train.py")
    if plot is not None:
        from traindx.reporters.figure import require_drawing

        require_drawing()
    reporter = reporter_for(format, output)
    for place in (output, plot, json):
        check_writable(place)
    with Bar("reading") as bar:
        found, reading, run = examine(paths, bar)
        if add_to is not None:
            run = _added(add_to, reading)
        from traindx.engine import diagnose as diagnose_run

        page = diagnose_run(run)
    _show(reading, page, reporter, output)
    if json is not None:
        from traindx.checkpoints.evidence import EVERY, reading_of
        from traindx.cli.probe import as_json

        emit(as_json([reading_of(found, reading.seconds, EVERY)], page), json)
    if plot is not None:
        _draw(reading, plot)
    return exit_code([page])


def examine(paths: list[Path], bar: Bar) -> tuple[Measured, Reading, Run]:
    """What the last of these checkpoints shows, compared with the first where there are two, and the run it belongs to."""
    from traindx.checkpoints.evidence import reading_of
    from traindx.checkpoints.find import open_checkpoint
    from traindx.checkpoints.layers import measured

    began = time.monotonic()
    opened = [open_checkpoint(path) for path in paths]
    found = measured(opened[-1], opened[0] if len(opened) > 1 else None, bar)
    for sentence in found.checkpoint.lost:
        say(sentence)
    reading = reading_of(found, time.monotonic() - began)
    run = _course(found.checkpoint.curves)
    run.source, run.format = str(paths[-1]), "checkpoint"
    run.config = {**reading.config, **run.config}
    run.lost += found.checkpoint.lost
    for fact in reading.facts:
        run.facts[fact.id] = fact
    return found, reading, run


def _course(curves: Path | None) -> Run:
    """The training's own log beside the checkpoint as a run; an empty one where there is none."""
    from traindx.readers.find import find_runs
    from traindx.run import Run

    if curves is not None:
        try:
            return find_runs([curves])[0]
        except TraindxError as error:
            say(str(error))
    return Run("", "checkpoint")


def _added(folder: Path, reading: Reading) -> Run:
    """The recording with this reading in it."""
    from traindx.live.store import Store
    from traindx.readers.find import find_runs

    path = folder / "rank-0.jsonl"
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 1, 0))
        cut_off = file.read(1) not in (b"", b"\n")
    store = Store(folder)
    if cut_off:
        store.line("note", text="the line before this one was cut off")
    for fact in reading.facts:
        store.line("fact", **_fields(fact))
    store.line("probe", reading=reading.to_json())
    store.close()
    if store.broken:
        raise TraindxError(f"The findings could not be added: {store.broken}.", "Check its permissions.")
    return find_runs([folder])[0]


def _fields(fact: Fact) -> dict[str, object]:
    return {name: getattr(fact, name) for name in ("id", "present", "evidence", "where", "step", "clarity", "probe")}


def _show(reading: Reading, page: Diagnosis, reporter: Reporter, output: Path | None) -> None:
    """The page with the table of layers: before it in a terminal, where the end is what stays in view; JSON has a file of its
    own for it."""
    from traindx.reporters.markdown import block
    from traindx.reporters.readings import render

    color = output is None and color_wanted(sys.stdout)
    width = FILE_WIDTH if output is not None else width_of(sys.stdout)
    text = reporter.render([page], color=color, width=width)
    if reporter.flag == "text":
        text = render([reading], color=color, width=width) + text
    elif reporter.flag == "md":
        text += "\n" + block(render([reading], color=False, width=width).rstrip().split("\n")) + "\n"
    emit(text, output)


def _draw(reading: Reading, plot: Path) -> None:
    from traindx.reporters.figure.chart import draw_readings

    try:
        say(f"wrote {draw_readings([reading], plot)}")
    except OSError as error:
        raise cannot_write(plot, error) from error
