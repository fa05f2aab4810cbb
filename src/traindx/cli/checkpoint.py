"""`traindx checkpoint`: measure saved weights and optimiser state, compare two checkpoints, and diagnose what they
show."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli.diagnose import Format, Output, exit_code, reporter_for
from traindx.cli.readings import AddTo, Json, Plot, as_json, check_places, draw, show
from traindx.cli.talk import Bar, emit, say
from traindx.errors import TraindxError
from traindx.secrets import hidden_settings

if TYPE_CHECKING:
    from traindx.checkpoints.layers import Measured
    from traindx.reading import Reading
    from traindx.run import Run


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
    plot: Plot = None,
    json: Json = None,
    add_to: AddTo = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="BASE", help="The base model that an adapter or an export is to be checked against."),
    ] = None,
    merged: Annotated[
        Path | None,
        typer.Option(metavar="MERGED", help="With --against: merged weights, which must be base + scale·B·A."),
    ] = None,
) -> int:
    """Look into a checkpoint without its code: nothing is unpickled, nothing executed."""
    if merged is not None and against is None:
        raise typer.BadParameter("it is compared with a base: give --against BASE too.", param_hint="--merged")
    if against is not None and len(paths) > 1:
        raise typer.BadParameter("with --against give one adapter or export.", param_hint="FILE_OR_DIR")
    if len(paths) > 2:
        raise typer.BadParameter(
            f"{len(paths)} were given; one is looked at, two are compared.", param_hint="FILE_OR_DIR"
        )
    reporter = reporter_for(format, output)
    check_places(output, plot, json, add_to)
    with Bar("reading") as bar:
        found, reading, run = examine(paths, bar)
        if against is not None:
            reading = _checked(found, reading, run, against, merged)
        if add_to is not None:
            from traindx.live.recording.adding import add_readings
            from traindx.opening import read

            add_readings(add_to, [reading])
            run = read(add_to)[0]
        from traindx.engine import diagnose as diagnose_run

        page = diagnose_run(run)
    show([reading], page, reporter, output)
    if json is not None:
        from traindx.checkpoints.evidence import EVERY, reading_of

        emit(as_json([reading_of(found, reading.seconds, EVERY)], page), json)
    if plot is not None:
        draw([reading], plot)
    return exit_code([page])


def examine(paths: list[Path], bar: Bar) -> tuple[Measured, Reading, Run]:
    """What the last of these checkpoints shows, compared with the first where there are two, and the run it belongs
    to."""
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
    run.config = hidden_settings({**reading.config, **run.config})
    run.lost += found.checkpoint.lost
    for fact in reading.facts:
        run.facts[fact.id] = fact
    return found, reading, run


def _checked(found: Measured, reading: Reading, run: Run, against: Path, merged: Path | None) -> Reading:
    """The reading with what an adapter or an export shows against its base."""
    from dataclasses import replace

    from traindx.checkpoints.against import compared
    from traindx.checkpoints.find import open_checkpoint

    export = open_checkpoint(merged) if merged is not None else None
    facts, table, summary = compared(found.checkpoint, open_checkpoint(against), export)
    for fact in facts:
        run.facts[fact.id] = fact
    return replace(
        reading, summary=f"{reading.summary} {summary}", facts=(*reading.facts, *facts), tables=(table, *reading.tables)
    )


def _course(curves: Path | None) -> Run:
    """The training's own log beside the checkpoint as a run; an empty one where there is none."""
    from traindx.opening import read
    from traindx.run import Run

    if curves is not None:
        try:
            return read(curves)[0]
        except TraindxError as error:
            say(str(error))
    return Run("", "checkpoint")
