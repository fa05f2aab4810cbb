"""`traindx run`: run a training with the recorder in it, then say what is wrong and what to do."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traindx.cli.diagnose import Format, Output, Verbose, report_runs, report_to_stderr, reporter_for, with_patches
from traindx.cli.remembering import remembered
from traindx.cli.status_line import StatusLine
from traindx.cli.talk import EXIT_INTERRUPTED, Closed, check_writable, emit, say
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND, EXIT_UNUSABLE_INPUT, TraindxError
from traindx.reporters import reporters
from traindx.reporters.wording import clean, percent, title_of

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.live.host.startup_report import Reached
    from traindx.live.outside.webhook import Alerter
    from traindx.run import Run

ENDS_AT_ONCE = 1.5  # seconds after an alert
NO_STEP = (
    "the script computed gradients, but no optimiser of torch.optim made a step and no parameter was seen to change. "
    "Check that the "
    "update runs and that the learning rate is not so small that rounding swallows it."
)


def command(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="SCRIPT ARGS", help="train.py …, -m package.module …, or -- torchrun … train.py"),
    ],
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the diagnosis as JSON here.")
    ] = None,
    format: Format = None,
    output: Output = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 when a problem is found, for CI.")] = False,
    budget: Annotated[str, typer.Option(metavar="PERCENT", help="How much of the time recording may take.")] = "1%",
    steps: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after N optimiser steps.")] = None,
    verbose: Verbose = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No status line, no alerts, no page.")] = False,
    push: Annotated[
        bool,
        typer.Option("--push", help="Tell the script's own TensorBoard, W&B, MLflow or trackio run the diagnosis."),
    ] = False,
    alert: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            envvar="TRAINDX_ALERT",
            show_envvar=True,
            help="Post alerts to this webhook (Slack, Discord, ntfy, JSON).",
        ),
    ] = None,
    cool_down: Annotated[float, typer.Option(metavar="SECONDS", min=0, help="Between two alerts, at least.")] = 300,
    checkpoint: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Keep the state after N updates, for traindx fix --from.")
    ] = None,
    private: Annotated[
        bool,
        typer.Option(
            "--private", envvar="TRAINDX_PRIVATE", show_envvar=True, help="Keep texts of the data out of the recording."
        ),
    ] = False,
    trace: Annotated[
        bool,
        typer.Option(
            "--trace/--no-trace",
            envvar="TRAINDX_TRACE",
            show_envvar=True,
            help="Trace the first two updates line by line, so that the page names the line.",
        ),
    ] = True,
    to: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the recording goes; NAME.traindx here.")] = None,
) -> int:
    """Run a training script unchanged, record it from the inside, and diagnose it at the end."""
    from traindx.live.host.bootstrap import TRACE
    from traindx.live.host.launch import command_of, launch, name_of
    from traindx.live.host.source_state import taken
    from traindx.live.host.startup_report import read
    from traindx.live.outside.webhook import Alerter, address_of
    from traindx.live.recording.store import fresh_folder, note_end

    for wanted in (json, output):
        check_writable(wanted)
    reporter = None if format is None and output is None else reporter_for(format, output)
    share = budget_of(budget)
    addresses = [address_of(url) for url in alert or []]
    what = command_of(arguments)
    folder = to if to is not None else fresh_folder(name_of(arguments), Path.cwd())
    alerter = Alerter(addresses, name_of(arguments), say, cool_down) if addresses else None
    status = Status(folder, quiet, alerter)
    options = {
        "budget": share,
        "steps": steps,
        **({"push": True} if push else {}),
        **({"private": True} if private else {}),
        **({"checkpoint": checkpoint} if checkpoint else {}),
    }
    os.environ[TRACE] = "1" if trace else ""  # the script's process inherits it
    source = taken(arguments, private=private)
    with tempfile.TemporaryDirectory(prefix="traindx-") as place:
        seen = Path(place) / "seen"
        try:
            code = launch(what, folder, options, status.tick, seen)
        finally:
            status.line.clear()
        reached = read(seen.read_text("ascii") if seen.exists() else "")
    source.keep(folder)
    note_end(folder, code)
    pair, why = conclude(folder, reached, code)
    page = pair[1] if pair else None
    with _whatever_the_stream(code):
        _show(page, why, json, quiet, verbose)
        if pair and reporter is not None:
            from traindx.signals import Settings

            report_runs([pair], Settings(), reporter, output)
    if alerter is not None:
        alerter.close(_last_words(page, code))
    if code != EXIT_OK:
        return code
    if page is None:  # a training that was not understood, or a gate that has seen nothing
        return EXIT_UNUSABLE_INPUT if gate or _recorded(folder) else code
    return EXIT_PROBLEM_FOUND if gate and page.verdict == "unhealthy" else code


@contextmanager
def _whatever_the_stream(code: int) -> Iterator[None]:
    """The script has ended and its exit code stands: nobody listening, or a full disk, is no reason for another."""
    try:
        yield
    except (Closed, OSError, ValueError, TraindxError) as error:
        say(f"the page could not be shown ({error}); the script ended with {code}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # Python flushes both at its end


def budget_of(text: str) -> float:
    """'1%', '0.5 %' or '0.01' as a share of the time."""
    try:
        share = float(text.rstrip("% ")) / (100 if "%" in text else 1)
    except ValueError:
        share = -1.0
    if not 0 < share <= 0.5:
        raise typer.BadParameter(f"{text!r} is no share of the time; give for example 1%.", param_hint="--budget")
    return share


def _recorded(folder: Path) -> bool:
    """Whether the recorder could write: the folder may hold no more than the script."""
    return any(folder.glob("rank-*"))


def _why_nothing(reached: Reached, code: int) -> str:
    """Why there is no recording, by how far the recorder came and how the script ended."""
    if not reached.words:
        return (
            "no Python process of this command took up the recorder: it starts Python elsewhere, with another "
            "environment, or with "
            "options that ignore PYTHONPATH. Put `with traindx.watch(model):` around the training instead."
        )
    if code != EXIT_OK:
        how = clean(reached.died) or (f"signal {code - 128}" if code > 128 else f"exit code {code}")
        return f"the script crashed before its first optimiser step ({how.rstrip('.')})."
    if "torch" in reached.words:
        return "no optimiser step of torch was seen in the script."
    return "torch was not imported."


def conclude(
    folder: Path, reached: Reached, code: int, prepared: Callable[[Run], Run] | None = None
) -> tuple[tuple[Run, Diagnosis] | None, str]:
    """What was recorded with its diagnosis; or nothing, and why. `prepared`: what is made of the run before it is
    judged."""
    from traindx.engine import diagnose
    from traindx.live.outside.page import shown
    from traindx.opening import read

    if code != EXIT_OK and reached.died:
        early = _died_early(folder, reached)
        if early is not None:
            return early, ""
    if not _recorded(folder):
        # where it cannot write, the recorder has said so itself
        return None, "" if "wall" in reached.words else f"nothing recorded: {_why_nothing(reached, code)}"
    try:
        run = read(folder)[0]
    except TraindxError:
        why = _why_nothing(reached, code) if code != EXIT_OK else NO_STEP
        return None, f"nothing to diagnose: {why}"
    run = run if prepared is None else prepared(run)
    run.source = shown(folder)
    page = remembered(diagnose(run), "run", lambda hints: diagnose(run, hinted=hints))
    return (run, with_patches(run, page)), ""


def _died_early(folder: Path, reached: Reached) -> tuple[Run, Diagnosis] | None:
    """A script that died before its first update, where its error or what was measured until then says why."""
    from traindx.engine import diagnose
    from traindx.live.outside.page import shown
    from traindx.readers.formats.recording import measured_before_rows
    from traindx.run import Event, Run

    measured = measured_before_rows(folder)
    if measured is None:
        return None
    run = Run(shown(folder), "recording", events=[Event("traceback", clean(reached.died), 0.0)])
    run.measured = [measured]
    page = diagnose(run)
    return (run, page) if page.verdict == "unhealthy" else None


def _show(page: Diagnosis | None, why: str, json: Path | None, quiet: bool, verbose: bool) -> None:
    """The page, or why there is none; whoever asked for JSON gets it in any case."""
    if page is None and why:
        say(why)
    if json is not None:
        document = page if page is not None else _empty_page(why)
        emit(reporters()["json"].render([document], color=False, width=100), json)
    if page is not None and not quiet:
        report_to_stderr(page, verbose)
        say(f"recorded in {page.run.source}; again any time: traindx diagnose {page.run.source}")


def _empty_page(why: str) -> Diagnosis:
    """Of a run that nothing is known of: every symptom is unknown, and the reason stands first."""
    from dataclasses import replace

    from traindx.engine import diagnose
    from traindx.run import Run

    page = diagnose(Run("", "recording"))
    return replace(page, verdict="inconclusive", headline=f"{why[:1].upper()}{why[1:]}" or "Nothing was recorded.")


def _last_words(page: Diagnosis | None, code: int) -> str | None:
    """What is worth an alert at the end: a script that failed, a training with a problem."""
    failed = f"the training ended with code {code}. " if code not in (EXIT_OK, EXIT_INTERRUPTED) else ""
    if page is None or page.verdict != "unhealthy":
        return failed.strip() or None
    top = page.hypotheses[0]
    return clean(
        f"{failed}likely cause ({percent(top.confidence)}): {title_of(top)} ({top.cause}). {page.headline} {page.next}"
    )


class Status:
    """The status line of a terminal, and alerts that stay."""

    def __init__(self, folder: Path, quiet: bool, alerter: Alerter | None = None) -> None:
        from traindx.live.outside.monitor import Monitor

        self.monitor = Monitor(folder)
        self.quiet = quiet
        self.alerter = alerter
        self.line = StatusLine()
        self._waiting: list[tuple[float, str]] = []  # alerts, and since when

    def tick(self) -> None:
        if self.quiet and self.alerter is None:
            return
        self.monitor.update()
        for alert in self.monitor.alerts():
            self._tell(alert)
        self._show()
        if self.alerter is not None:
            self.alerter.tick()
        if not self.quiet and self.monitor.step:
            self.line.show(f"traindx: {self.monitor.line()}")

    def _tell(self, alert: str) -> None:
        if self.alerter is not None:
            self.alerter.tell(clean(alert))
        self._waiting.append((time.monotonic(), clean(alert)))

    def _show(self) -> None:
        """The alerts of a training that goes on: where it ends at once, the page says the same."""
        while not self.quiet and self._waiting and time.monotonic() - self._waiting[0][0] >= ENDS_AT_ONCE:
            self.line.alert(f"traindx: {self._waiting.pop(0)[1]}")
