"""`traindx trial`: measure a change of one's own against the unchanged script."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.fix import (
    Address,
    Budget,
    From,
    FromStep,
    Jobs,
    Json,
    Network,
    Page,
    Progress,
    Quiet,
    Script,
    Seconds,
    Seeds,
    Steps,
    Trust,
    Where,
    check_sandbox,
    check_start,
    remember,
    show,
)
from traindx.cli.talk import EXIT_INTERRUPTED, check_writable, emit
from traindx.errors import EXIT_OK


def command(
    arguments: Script = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="What to change; lr=x0.1 means a tenth.")
    ] = None,
    patch: Annotated[
        Path | None,
        typer.Option("--patch", metavar="FILE", help="A unified diff of the script to judge instead.", exists=True),
    ] = None,
    settable: Annotated[bool, typer.Option("--list", help="Show what can be set.")] = False,
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
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    network: Network = False,
    trust: Trust = False,
    quiet: Quiet = False,
) -> int:
    """Try a change on copies of a script beside the unchanged one: what it does to the error, with an interval."""
    from traindx.trials.fixing import Asked, prove, trial
    from traindx.trials.interrupting import heeding
    from traindx.trials.setting import known, parse_all

    if settable:
        emit("".join(f"{name:<16} {text}\n" for name, text in known().items()))
        return EXIT_OK
    if bool(settings) == bool(patch):
        raise typer.BadParameter("Say what to change: --set lr=1e-4, or --patch FILE.", param_hint="--set")
    wanted = parse_all(settings or [])
    if not arguments:
        raise typer.BadParameter("Give a script.", param_hint="SCRIPT")
    check_start(from_step, recording)
    check_sandbox(executor, yes, trust)
    for place in (json, output):
        check_writable(place)
    with heeding(), Progress(quiet) as progress:
        asked = Asked(
            list(arguments), steps, seconds, budget, seeds, jobs, executor, address, from_step, recording, network
        )
        if patch is not None:
            report, _, interrupted = prove(asked, patch, progress)
        else:
            report, interrupted = trial(asked, wanted, progress)
    show(report, json, output)
    remember(report)
    return EXIT_INTERRUPTED if interrupted else EXIT_OK
