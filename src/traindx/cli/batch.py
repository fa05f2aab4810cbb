"""`traindx probe batch`: show the first batches of a language model as its loss sees them, and judge them."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from traindx.cli.diagnose import exit_code, report_runs, reporter_for
from traindx.cli.talk import FILE_WIDTH, color_wanted, emit, width_of
from traindx.errors import TraindxError

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.reporters.base import Reporter
    from traindx.run import Run

NAME = "batch"
START = "traindx.probes.batch:start"
LINES = 12  # of each sample


def probe_batch(
    arguments: Sequence[str], private: bool, reporter: Reporter, output: Path | None, json: Path | None
) -> int:
    run, page = _looked_at(arguments, private)
    if not page.batches and page.verdict != "unhealthy":
        raise TraindxError(
            "No batch of a language model was seen: no loss over tokens that went into an embedding.",
            f"For any other model: traindx probe {' '.join(arguments[:1])}",
        )
    if json is not None:
        emit(reporter_for("json", None).render([page], color=False, width=FILE_WIDTH), json)
    if reporter.flag == "text":
        emit(_shown(page, reporter, output), output)
    else:
        from traindx.signals import Settings

        report_runs([(run, page)], Settings(), reporter, output)
    return exit_code([page])


def _looked_at(arguments: Sequence[str], private: bool) -> tuple[Run, Diagnosis]:
    """The run of the first batches, and what they show."""
    from traindx.cli.run import conclude
    from traindx.live.host.launch import command_of, launch
    from traindx.live.host.startup_report import read
    from traindx.readers.probed import without_curves

    what = command_of(arguments)
    with tempfile.TemporaryDirectory(prefix="traindx-batch-") as place:
        folder, seen = Path(place) / "batch.traindx", Path(place) / "seen"
        code = launch(what, folder, {"start": START, "private": private}, seen=seen)
        reached = read(seen.read_text("ascii") if seen.exists() else "")
        found, why = conclude(folder, reached, code, without_curves)
        if found is None:
            raise TraindxError(
                why or "Nothing was recorded.", f"See whether it trains: traindx run {' '.join(arguments[:1])}"
            )
        run, page = found
        run.source = " ".join(arguments)
        return run, _named(page, run.source)


def _named(page: Diagnosis, source: str) -> Diagnosis:
    from dataclasses import replace

    return replace(page, run=replace(page.run, source=source))


def _shown(page: Diagnosis, reporter: Reporter, output: Path | None) -> str:
    """The samples first: they are what was asked for. The page after them does not repeat them."""
    from dataclasses import replace

    from traindx.reporters.batches.excerpt import excerpt, title
    from traindx.reporters.layout import Ink, wrap

    color = output is None and color_wanted(sys.stdout)
    width = FILE_WIDTH if output is not None else width_of(sys.stdout)
    lines: list[str] = []
    for batch in page.batches:
        shown = excerpt(batch, samples=len(batch.samples), lines=LINES, color=color, width=width - 2)
        heading = f"{title(batch).capitalize()}{f' ({batch.tokenizer})' if batch.tokenizer else ''}"
        lines += [Ink(color)(heading, "heading"), *(f"  {line}" for line in shown), ""]
    if page.verdict == "unhealthy":
        return "\n".join([*lines, reporter.render([replace(page, batches=())], color=color, width=width)])
    return "\n".join([*lines, *wrap(_passed(page), width), ""])


def _passed(page: Diagnosis) -> str:
    """Where nothing is wrong with the batches: curves are not what was looked at."""
    from traindx.reporters.batches.excerpt import INPUTS
    from traindx.symptoms import symptoms

    known = symptoms()
    checked = [one.id for one in page.symptoms if one.state == "absent" and INPUTS in known[one.id].needs]
    doubts = [f"{one.id}: {one.evidence}" for one in page.present() if INPUTS in known[one.id].needs]
    said = f"Passed: {', '.join(sorted(checked))}." if checked else ""
    noted = f"Worth a look: {' '.join(doubts)}" if doubts else "No fault found in these batches."
    return " ".join(part for part in (noted, said, "For the training: traindx run") if part) + f" {page.run.source}"
