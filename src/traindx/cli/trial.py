"""`traindx trial`: measure a change of one's own against the unchanged script."""

from __future__ import annotations

from typing import Annotated

import typer

from traindx.cli.fix import (
    Address,
    Budget,
    From,
    FromStep,
    Jobs,
    Json,
    Page,
    Progress,
    Quiet,
    Script,
    Seconds,
    Seeds,
    Steps,
    Where,
    check_start,
    heeding_sigterm,
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
    quiet: Quiet = False,
) -> int:
    """Try a change on copies of a script beside the unchanged one: what it does to the error, with an interval."""
    from traindx.trials.fixing import Asked, trial
    from traindx.trials.setting import known, parse_all

    if settable:
        emit("".join(f"{name:<16} {text}\n" for name, text in known().items()))
        return EXIT_OK
    if not settings:
        raise typer.BadParameter("Say what to change, for example --set lr=1e-4.", param_hint="--set")
    wanted = parse_all(settings)
    if not arguments:
        raise typer.BadParameter("Give a script.", param_hint="SCRIPT")
    check_start(from_step, recording)
    for place in (json, output):
        check_writable(place)
    with heeding_sigterm(), Progress(quiet) as progress:
        asked = Asked(list(arguments), steps, seconds, budget, seeds, jobs, executor, address, from_step, recording)
        report, interrupted = trial(asked, wanted, progress)
    show(report, json, output)
    remember(report)
    return EXIT_INTERRUPTED if interrupted else EXIT_OK
