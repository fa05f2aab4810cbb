"""The report: every section of every run, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from traindx.diagnosis import Diagnosis
from traindx.reporters.html.answers import answers
from traindx.reporters.html.background import confidence, issue, readings_section, sections, setup
from traindx.reporters.html.document import SCRIPTS, asset, document, style
from traindx.reporters.html.evidence import curves, heats, symptoms_table
from traindx.reporters.html.extras import Extras
from traindx.reporters.html.markup import Html, inner, json_block, tag
from traindx.reporters.html.plots import Plots, plots_of, plots_of_curves
from traindx.reporters.html.reliability import measured
from traindx.reporters.html.samples import samples
from traindx.reporters.html.tokens import batches
from traindx.reporters.html.verdict import causes, hero, known
from traindx.reporters.wording import VERDICT_WORD, amount, folder_of, leading, length_of, percent, run_name, title_of
from traindx.run import Run
from traindx.signals import Settings

MOST_PAGES = 24  # runs shown in full; the table names all of them
_ORDER = {"unhealthy": 0, "inconclusive": 1, "healthy": 2}


@dataclass(frozen=True)
class Case:
    """One run of a report: its diagnosis, the run it speaks of where that is at hand, and what else a command has to
    add."""

    diagnosis: Diagnosis
    run: Run | None = None
    extras: Extras = field(default_factory=Extras)


def page(
    diagnosis: Diagnosis, run: Run | None = None, extras: Extras | None = None, settings: Settings | None = None
) -> str:
    """The report of one run as one self-contained HTML file."""
    return report([Case(diagnosis, run, extras or Extras())], settings)


def report(cases: Sequence[Case], settings: Settings | None = None) -> str:
    """The report of one or several runs, those that need attention first."""
    sheet, script = style(), asset(*SCRIPTS)
    if len(cases) == 1:
        case = cases[0]
        title = f"{VERDICT_WORD[case.diagnosis.verdict].lower()}: {run_name(case.diagnosis)} · traindx"
        body = run_section(case, "run", "h1", settings)
        return document(title, inner(*body.parts), script=script, style=sheet, navigation=body.navigation)
    ordered = sorted(cases, key=lambda case: _ORDER[case.diagnosis.verdict])
    shown = ordered[:MOST_PAGES]
    whole: list[Html] = [_summary(ordered, len(shown))]
    for place, case in enumerate(shown):
        whole += run_section(case, f"run-{place}", "h2", settings).parts
    return document(f"{len(cases)} runs · traindx", inner(whole), script=script, style=sheet)


@dataclass(frozen=True)
class Body:
    """A run's part of a page, and the anchors in it."""

    parts: tuple[Html, ...]
    navigation: tuple[tuple[str, str], ...]


def run_section(
    case: Case, run_id: str, heading: str, settings: Settings | None = None, plots: Plots | None = None
) -> Body:
    """Everything about one run; `plots` where what is drawn of it is known already."""
    diagnosis, run, extras = case.diagnosis, case.run, case.extras
    if plots is None:
        plots = plots_of(run, diagnosis, settings) if run is not None and run.series else plots_of_curves(diagnosis)
    named: list[tuple[str, str, Html | None]] = [
        ("Trials", "trials", inner(*sections(extras.trials, f"{run_id}-trial")) if extras.trials else None),
        ("Curves", "curves", curves(plots, diagnosis)),
        ("Batch", "batch", batches(diagnosis.batches)),
        ("Answers", "answers", answers(diagnosis.answers)),
        ("Samples", "samples", samples(diagnosis.samples)),
        ("Layers", "layers", heats(plots)),
        ("Comparison", "more", inner(*sections(extras.sections, f"{run_id}-more")) if extras.sections else None),
        ("Evidence", "evidence", symptoms_table(diagnosis)),
        ("Probes", "probes", readings_section(extras.readings)),
        ("Confidence", "confidence", confidence(extras.reliability or measured(diagnosis))),
        ("Setup", "setup", setup(diagnosis, run)),
        ("Issue", "issue", issue(diagnosis, run_id)),
    ]
    kept = [(name, f"{run_id}-{anchor}", part) for name, anchor, part in named if part is not None]
    whole = tag(
        "article",
        hero(diagnosis, heading, plots),
        causes(diagnosis, run_id),
        known(diagnosis),
        [tag("div", part, id=anchor) for _, anchor, part in kept],
        class_="run", id=run_id, data_plots=f"{run_id}-data",
    )  # fmt: skip
    return Body(
        (whole, json_block(f"{run_id}-data", plots.data())), tuple((name, f"#{anchor}") for name, anchor, _ in kept)
    )


def _summary(cases: Sequence[Case], shown: int) -> Html:
    folder = folder_of([case.diagnosis for case in cases])
    rows = []
    for place, case in enumerate(cases):
        diagnosis = case.diagnosis
        first = leading(diagnosis)
        name = run_name(diagnosis).removeprefix(folder)
        rows.append(
            tag(
                "tr",
                tag("td", tag("span", diagnosis.verdict, class_=f"pill {diagnosis.verdict}")),
                tag("td", tag("a", name, href=f"#run-{place}") if place < shown else name, class_="wrap"),
                tag("td", length_of(diagnosis)),
                tag("td", title_of(first) if first is not None else ""),
                tag("td", percent(first.confidence) if first is not None else "", class_="number"),
            )
        )
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in ("verdict", "run", "length", "most likely")),
        tag("th", "sure", scope="col", class_="number"),
    )
    rest = f" The first {shown} are shown in full below." if shown < len(cases) else ""
    return tag(
        "section",
        tag("h1", f"{amount(len(cases), 'run')}{f' in {folder}' if folder else ''}"),
        tag("p", f"Those that need attention come first.{rest}", class_="lead"),
        tag("div", tag("table", tag("thead", head), tag("tbody", rows)), class_="table", tabindex=0, role="region",
            aria_label="runs"),
        class_="card",
    )  # fmt: skip
