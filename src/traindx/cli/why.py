"""`traindx explain --why RUN CAUSE`: every piece of evidence about one cause in one run, with its weight."""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindx.cli.gather import gather as gather_runs
from traindx.cli.talk import color_wanted, emit, width_of
from traindx.errors import EXIT_OK, TraindxError

if TYPE_CHECKING:
    from traindx.engine.ways import Way
    from traindx.signals import Signals


def explain_why(path: Path, name: str, *, as_json: bool) -> int:
    """Show why this cause ranks where it does; of several runs in the path each."""
    from traindx.causes import causes
    from traindx.engine.evidence import gather
    from traindx.engine.rank import OTHER
    from traindx.engine.reasons import why
    from traindx.reporters.reasons import render
    from traindx.signals import Signals

    cause = re.sub(r"[\s_]+", "-", name.strip().lower())
    if cause not in causes() and cause != OTHER:
        from traindx.reporters.catalogue import suggestion

        near = suggestion(name, {unit.id: unit.title for unit in causes().values()})
        raise TraindxError(f"there is no cause called {name!r}.", near)
    found = []
    for run in gather_runs([path]):
        signals = Signals(run)
        found.append((run, why(gather(signals), cause, partial(_how, signals=signals))))
    if as_json:
        stated = [{"run": run.source, "name": run.name, **reasons.to_json()} for run, reasons in found]
        emit(json.dumps(stated[0] if len(stated) == 1 else stated, ensure_ascii=False, indent=2) + "\n")
        return EXIT_OK
    color, width = color_wanted(sys.stdout), width_of(sys.stdout)
    emit("\n".join(render(reasons, run.source, color=color, width=width) for run, reasons in found))
    return EXIT_OK


def _how(way: Way, signals: Signals) -> str:
    """What to type; nothing for a recording of what was recorded, which would see no more."""
    from traindx.engine.advise import command

    again = way.kind == "recording" and "recording.script" in signals.run.config
    return "" if again else command(way, signals)
