"""One self-contained HTML file that opens offline: verdict, causes, curves, heat maps, evidence, fix. `page` makes it
of one run, `REPORTER` is what `--format html` calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traindx.diagnosis import Diagnosis
from traindx.reporters.base import Reporter

if TYPE_CHECKING:
    from traindx.reporters.html.extras import Extras
    from traindx.run import Run
    from traindx.signals import Settings


def page(
    diagnosis: Diagnosis, run: Run | None = None, extras: Extras | None = None, settings: Settings | None = None
) -> str:
    """The report of one run. Without the run it shows what the diagnosis itself carries."""
    from traindx.reporters.html.report import page as whole

    return whole(diagnosis, run, extras, settings)


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """Diagnoses without their runs (colour and width do not matter)."""
    from traindx.reporters.html.report import Case, report

    return report([Case(diagnosis) for diagnosis in diagnoses])


def illustrate(pairs: Sequence[tuple[Run, Diagnosis]], settings: Settings) -> str:
    """Diagnoses with the runs they speak of."""
    from traindx.reporters.html.report import Case, report

    return report([Case(diagnosis, run) for run, diagnosis in pairs], settings)


REPORTER = Reporter(
    "html", "html", "one page with curves and heat maps, opens offline", (".html", ".htm"), render, illustrate
)
