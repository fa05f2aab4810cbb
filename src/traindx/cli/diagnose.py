"""`traindx diagnose`: read logs, say what is wrong and what to do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli.gather import gather, usable
from traindx.cli.remembering import remembered
from traindx.cli.talk import FILE_WIDTH, Bar, check_writable, color_wanted, emit, width_of
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND
from traindx.reporters import reporters
from traindx.reporters.base import Reporter
from traindx.reporters.wording import leading

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.run import Run
    from traindx.signals import Settings

DEFAULT_FORMAT = "text"
FOR_A_DIFF = "The page shows the change as a diff after: pip install 'traindx[fix]'"
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="FORMAT",
        help=f"One of {', '.join(sorted(reporters()))}; text, or what the ending of -o says.",
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Everything that the page leaves out for brevity.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the report here.")]


class Goal(StrEnum):
    """Whether the metric should fall or rise."""

    min = "min"
    max = "max"


def command(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Log files, run directories, or - for stdin.")],
    format: Format = None,
    output: Output = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The training's settings (YAML or JSON), if not beside the log.")
    ] = None,
    classes: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="How many classes there are, to know what chance level is.")
    ] = None,
    metric: Annotated[str | None, typer.Option(metavar="NAME", help="The metric to judge the run by.")] = None,
    goal: Annotated[Goal | None, typer.Option(help="Whether that metric should fall or rise.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Keep watching; tell every change until Ctrl-C.")] = False,
    verbose: Verbose = False,
) -> int:
    """Say what is wrong with a training run and what to do."""
    reporter = reporter_for(format, output, verbose)
    check_writable(output)
    settings = settings_of(classes, metric, goal)
    if follow:
        from traindx.cli.follow import follow_paths

        return follow_paths(paths, config, settings, reporter, output)
    with Bar("reading") as bar:
        pairs = examined(gather(paths, config, bar), settings, bar)
    report_runs(pairs, settings, reporter, output)
    return exit_code([diagnosis for _, diagnosis in pairs])


def reporter_for(format: str | None, output: Path | None, verbose: bool = False) -> Reporter:
    """The format asked for, else the one the file's ending names, else text; `verbose` where it has more to show."""
    known = reporters()
    if format is not None and format not in known:
        raise typer.BadParameter(f"{format!r} is not one of {', '.join(sorted(known))}.", param_hint="--format")
    ending = output.suffix.lower() if output is not None else ""
    by_ending = next((reporter for reporter in known.values() if ending in reporter.suffixes), known[DEFAULT_FORMAT])
    chosen = by_ending if format is None else known[format]
    return replace(chosen, render=chosen.render_all) if verbose and chosen.render_all is not None else chosen


def examined(runs: Sequence[Run], settings: Settings, bar: Bar | None = None) -> list[tuple[Run, Diagnosis]]:
    """Each run with its diagnosis; a run that cannot be judged (the metric asked for is missing) goes to stderr."""
    from traindx.engine import diagnose as diagnose_run

    def one(numbered: tuple[int, Run]) -> tuple[Run, Diagnosis]:
        if bar is not None:
            bar("diagnosing", numbered[0], len(runs))
        run = numbered[1]
        page = diagnose_run(run, settings)
        page = remembered(page, "diagnose", lambda hints: diagnose_run(run, settings, hinted=hints))
        return run, with_patches(run, page)

    return usable(enumerate(runs), one)


def with_patches(run: Run, page: Diagnosis) -> Diagnosis:
    """The fixes of a recording as diffs of the script that was recorded, where it lies here or beside the recording."""
    if run.format != "recording":
        return page
    from traindx.trials.editing import available
    from traindx.trials.proposing import in_own_lines, recorded_script

    places = [Path(), Path(run.source).parent]
    first = leading(page)
    could = first is not None and first.fix is not None and first.fix.change and recorded_script(page, places)
    if could and not available():
        return replace(page, next=f"{page.next.rstrip('.')}. {FOR_A_DIFF}")
    return in_own_lines(page, places)


def examine(runs: Sequence[Run], settings: Settings) -> list[Diagnosis]:
    """One diagnosis a run that can be judged."""
    return [diagnosis for _, diagnosis in examined(runs, settings)]


def report_runs(
    pairs: Sequence[tuple[Run, Diagnosis]], settings: Settings, reporter: Reporter, output: Path | None
) -> None:
    """Show the diagnoses with the runs they speak of, where the format draws those, or write them to the file."""
    if reporter.illustrate is None:
        report([diagnosis for _, diagnosis in pairs], reporter, output)
    else:
        emit(reporter.illustrate(pairs, settings), output)


def report(diagnoses: Sequence[Diagnosis], reporter: Reporter, output: Path | None) -> None:
    """Show the diagnoses, or write them to the file."""
    color = output is None and color_wanted(sys.stdout)
    width = FILE_WIDTH if output is not None else width_of(sys.stdout)
    emit(reporter.render(diagnoses, color=color, width=width), output)


def report_to_stderr(diagnosis: Diagnosis, verbose: bool = False) -> None:
    """Show one diagnosis beside the output of a script, whose stdout is its own."""
    color, width = color_wanted(sys.stderr), width_of(sys.stderr)
    sys.stderr.write(reporter_for(DEFAULT_FORMAT, None, verbose).render([diagnosis], color=color, width=width))
    sys.stderr.flush()


def exit_code(diagnoses: Sequence[Diagnosis]) -> int:
    sick = any(diagnosis.verdict == "unhealthy" for diagnosis in diagnoses)
    return EXIT_PROBLEM_FOUND if sick else EXIT_OK


def settings_of(classes: int | None, metric: str | None, goal: Goal | None) -> Settings:
    """What the user gave, as the engine takes it."""
    from traindx.signals import Settings

    return Settings(classes, metric, None if goal is None else goal.value)
