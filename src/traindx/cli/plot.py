"""`traindx plot`: the run as a picture, with its symptoms where they happen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.diagnose import Goal, settings_of
from traindx.cli.gather import gather, usable
from traindx.cli.talk import Bar, cannot_write, check_writable, say
from traindx.errors import EXIT_OK


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Log files, run directories, or - for stdin.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.png", help="The picture to write.")],
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="The training's settings (YAML or JSON).")] = None,
    classes: Annotated[int | None, typer.Option(metavar="N", min=2, help="How many classes there are.")] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="The metric to judge the run by.")] = None,
    goal: Annotated[Goal | None, typer.Option(help="Whether that metric should fall or rise.")] = None,
) -> int:
    """Draw the curves of a run with its symptoms, as PNG."""
    from traindx.reporters.figure import MAX_FIGURES, require_drawing, save_figures

    require_drawing()
    check_writable(output)
    settings = settings_of(classes, metric, goal)
    with Bar("reading") as bar:
        from traindx.engine import diagnose as diagnose_run

        runs = gather(paths, config, bar)
        pairs = usable(runs, lambda run: (run, diagnose_run(run, settings)))
        bar("drawing", 0, 0)
        try:
            written = save_figures(pairs, output, settings)
        except OSError as error:
            raise cannot_write(output, error) from error
    if len(pairs) > MAX_FIGURES:
        say(f"{len(pairs)} runs: the overlay shows all, single figures only the first {MAX_FIGURES}.")
    say(f"wrote {', '.join(map(str, written[:4]))}{'…' if len(written) > 4 else ''}")
    return EXIT_OK
