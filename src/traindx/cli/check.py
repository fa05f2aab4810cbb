"""`traindx check`: is a script fit for its first long run, and which expectations of a brief hold?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from traindx.cli.fix import Progress, Quiet, Script, Seconds, Steps
from traindx.cli.gate import gate, shown
from traindx.cli.talk import emit
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND, TraindxError


def command(
    arguments: Script = None,
    expects: Annotated[
        Path | None, typer.Option("--expects", metavar="BRIEF", help="The brief that traindx fix --brief wrote.")
    ] = None,
    steps: Steps = 1000,
    seconds: Seconds = 120.0,
    quiet: Quiet = False,
) -> int:
    """Look at a script once before its first long run; with --expects, run a copy and check what a repair must satisfy.

    Exit code 0: all of it holds."""
    from traindx.reporters.wording import clean
    from traindx.trials.brief import checked, expected
    from traindx.trials.fixing import Asked
    from traindx.trials.interrupting import heeding

    if not arguments:
        raise typer.BadParameter("Give a script.", param_hint="SCRIPT")
    if expects is None:
        lines, code = gate(arguments)
        emit(shown(lines))
        return code
    wanted = expected(expects)
    with heeding(), Progress(quiet) as progress, tempfile.TemporaryDirectory(prefix="traindx-check-") as place:
        arm = Asked(list(arguments), steps, seconds).session(progress).first(Path(place) / "state")
    if arm.page is None:
        why = arm.failed or "the script made no update"
        raise TraindxError(f"Nothing was recorded: {why}.", "Run it by itself first.")
    words = {"absent": "ok", "present": "FAILED", "unknown": "NOT MEASURED"}
    found = checked(arm.page, wanted)
    emit("".join(f"{words[one.state]:<13} {one.id}: {clean(one.evidence)}\n" for one in found))
    return EXIT_OK if all(one.state == "absent" for one in found) else EXIT_PROBLEM_FOUND
