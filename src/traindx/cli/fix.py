"""`traindx fix`: diagnose a script, try the fixes on copies of it, and give the one that is shown to help."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli.talk import EXIT_INTERRUPTED, check_writable, color_wanted, emit, is_terminal, say, width_of
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND, TraindxError

if TYPE_CHECKING:
    from traindx.trials.report import Report

Script = Annotated[
    list[str] | None,
    typer.Argument(metavar="SCRIPT ARGS", help="train.py …, -m package.module …, or -- torchrun … train.py"),
]
Steps = Annotated[int, typer.Option(metavar="N", min=10, help="Maximum optimiser steps per trial run.")]
Seconds = Annotated[float, typer.Option(metavar="S", min=1, help="Seconds of an arm at most.")]
Budget = Annotated[float, typer.Option(metavar="S", min=1, help="Seconds of all trials together.")]
Seeds = Annotated[int, typer.Option(metavar="N", min=2, help="Pairs of runs before a change is called helpful.")]
Jobs = Annotated[int | None, typer.Option(metavar="N", min=1, help="Trial runs in parallel.", show_default="by cores")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write diagnosis and verdicts as JSON here.")]
Page = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Write it as a page for the browser too.")
]
Where = Annotated[str, typer.Option("--executor", metavar="NAME", help="local, ray or slurm: where the arms run.")]
Address = Annotated[str | None, typer.Option(metavar="HOST", help="With --executor ray: the cluster.")]
FromStep = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Let trials begin after N updates, where the fault shows late.")
]
From = Annotated[
    Path | None,
    typer.Option("--from", metavar="RUN.traindx", help="Begin with the state kept by traindx run --checkpoint N."),
]
Network = Annotated[bool, typer.Option("--network", help="Let the script use the network in trials.")]
Trust = Annotated[
    bool, typer.Option("--trust", help="Accept that this system cannot keep a trial from writing outside its copy.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def command(
    arguments: Script = None,
    steps: Steps = 1000,
    seconds: Seconds = 120.0,
    budget: Budget = 900.0,
    seeds: Seeds = 3,
    jobs: Jobs = None,
    executor: Where = "local",
    address: Address = None,
    from_step: FromStep = None,
    recording: From = None,
    json: Json = None,
    output: Page = None,
    write: Annotated[bool, typer.Option("--write", help="Apply the best fix to the script, after asking.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    network: Network = False,
    trust: Trust = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last --write of this directory.")] = False,
    brief: Annotated[
        Path | None,
        typer.Option("--brief", metavar="FILE", help="Write what a repair by hand must satisfy, as JSON."),
    ] = None,
    hand: Annotated[
        str | None,
        typer.Option("--with", metavar="CMD", help="A command that reads the brief and edits the copy it is run in."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="With --with: how often it may try.")] = 3,
    quiet: Quiet = False,
) -> int:
    """Diagnose a training script, try fixes on copies of it, and say with measured proof which one helps."""
    from traindx.trials.editing import require_edits
    from traindx.trials.fixing import Asked, fix
    from traindx.trials.handing import Hand
    from traindx.trials.interrupting import heeding

    if undo:
        return _undo()
    if write:
        require_edits()
    if not arguments:
        raise typer.BadParameter("Give a script.", param_hint="SCRIPT")
    check_start(from_step, recording)
    check_sandbox(executor, yes, trust)
    for place in (json, output, brief):
        check_writable(place)
    with heeding(), Progress(quiet) as progress:
        helper = Hand(hand, rounds) if hand else None
        asked = Asked(
            list(arguments),
            steps,
            seconds,
            budget,
            seeds,
            jobs,
            executor,
            address,
            from_step,
            recording,
            network,
            helper,
        )
        report, edits, interrupted = fix(asked, progress)
    seen = {root: {name: (root / name).read_bytes() for name in texts} for root, texts in edits.items()}
    if brief is not None and report.brief is not None:
        _write_brief(report, brief)
    show(replace(report, writing=write), json, output)
    remember(report)
    if write and edits and not interrupted:
        _write(edits, yes, seen)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_PROBLEM_FOUND if report.best is not None or report.page.verdict == "unhealthy" else EXIT_OK


def check_start(from_step: int | None, recording: Path | None) -> None:
    if from_step is not None and recording is not None:
        raise TraindxError("--from and --from-step are two ways to begin later.", "Give one of them.")


def check_sandbox(executor: str, yes: bool, trust: bool) -> None:
    """Where only the guard inside Python holds, nobody is to find out afterwards."""
    from traindx.trials.sandbox import choose

    if executor != "local" or choose().by_system or trust:
        return
    said = f"This system has no sandbox for trials: what holds is {choose().holds}."
    if yes:
        raise TraindxError(said, "Give --trust where you trust the script, or leave out --yes.")
    say(said)


class Progress:
    """What the trials are at: one line that is rewritten on a terminal, one line an arm elsewhere."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def __call__(self, text: str) -> None:
        if self.quiet:
            return
        if is_terminal(sys.stderr):
            sys.stderr.write(f"\r\033[Ktraindx: {text}"[: width_of(sys.stderr) - 1])
            sys.stderr.flush()
            self._shown = True
        else:
            say(text)


def show(report: Report, json: Path | None, output: Path | None = None) -> None:
    from traindx.trials.report import render

    if output is not None:
        from traindx.trials.page import page_of

        emit(page_of(report), output)
    emit(render(report, color=color_wanted(sys.stdout), width=width_of(sys.stdout)))
    if json is not None:
        import json as encoder

        emit(encoder.dumps(report.to_json(), indent=2) + "\n", json)


def remember(report: Report) -> None:
    """Put the verdicts into the case book: of each fix the best, which stands first."""
    from traindx.casebook.consulting import record_trial
    from traindx.trials.report import outcome_of

    written = set()
    for trial in report.trials:
        fix = trial.candidate.fix
        if fix not in written and not trial.open:
            written.add(fix)
            record_trial(
                report.alone or report.page, fix=fix, cause=trial.candidate.cause, verdict=trial.verdict,
                effect=f"{trial.candidate.change}: {outcome_of(trial)}", tell=say,
            )  # fmt: skip


def _write(edits: dict[Path, dict[str, str]], yes: bool, seen: dict[Path, dict[str, bytes]]) -> None:
    from traindx.trials.write import write

    for root, texts in edits.items():
        names = ", ".join(texts)
        if not yes and not (is_terminal(sys.stdin) and typer.confirm(f"Change {names}?", err=True)):
            raise TraindxError(f"{names} was not changed.", "Answer yes, or give --yes where nobody can answer.")
        backup = write(root, texts, seen[root])
        say(f"changed {names}; the old version is in {backup}; traindx fix --undo takes it back")


def _write_brief(report: Report, to: Path) -> None:
    import json as encoder

    assert report.brief is not None
    emit(encoder.dumps(report.brief.to_json(), indent=2) + "\n", to)


def _undo() -> int:
    from traindx.trials.write import undo

    say(f"took the fix back: {', '.join(undo(Path.cwd()))} is as before")
    return EXIT_OK
