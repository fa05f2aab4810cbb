"""The page of a session for the browser: the diagnosis after the trials, and each trial with its verdict."""

from __future__ import annotations

from dataclasses import replace

from traindx.reading import Cell, Table
from traindx.reporters import html
from traindx.reporters.html.extras import Extras, Section
from traindx.reporters.html.fragment import fragment, table
from traindx.reporters.html.markup import Html, block, tag
from traindx.trials.outcome import Trial
from traindx.trials.report import Report, outcome_of, word_of

_TONES = {"helped": "cured", "worse": "refuted", "failed": "refuted", "no-effect": "unknown"}
_COLUMNS = ("fix", "change", "verdict", "before", "after", "after ÷ before (95 %)", "seeds", "clears")


def page_of(report: Report) -> str:
    """One self-contained HTML file."""
    page = report.page
    if report.command == "fix" and page.verdict != "healthy":  # what the diagnosis alone advises has been done
        written = f"`traindx fix {report.name} --write` applies the diff below; `traindx fix --undo` takes it back."
        page = replace(
            page,
            next=written if report.diff else "No change has been shown to help so far; what was tried stands below.",
        )
    return html.page(page, None, Extras(trials=sections_of(report)))


def sections_of(report: Report) -> tuple[Section, ...]:
    """The best change with its patch first, then everything that was tried."""
    found = []
    best = report.best
    for trial in report.chain:
        title = f"{'Then: ' if trial.candidate.on is not None else ''}{trial.candidate.title} ({trial.candidate.fix})"
        text = [f"{trial.candidate.change}: {outcome_of(trial)}"]
        if trial is best and report.together is not None:
            text.append(f"Together, beside the unchanged script: {outcome_of(report.together)}")
        diff = report.diff if trial is best else ""
        found.append(Section(title, tuple(text), word_of(trial), _TONES[trial.verdict], diff))
    if report.trials:
        table = Table("", _COLUMNS, tuple(_row(trial) for trial in report.trials))
        measured = sorted({trial.effect.metric for trial in report.trials if trial.effect is not None})
        stated = (f"Before and after: {', '.join(measured)}, less is better.",) if measured else ()
        none = "" if best is not None else "none helped"
        found.append(
            Section("Tried on copies of the script", (*stated, *report.notes), none, "unknown", tables=(table,))
        )
    by_hand = [
        Section(
            f"By hand: {step.title}",
            (f"For {step.cause}{f', at {step.where}' if step.where else ''}.",),
            diff=step.code,
        )
        for step in (report.by_hand if best is None or not report.diff else ())
    ]
    return (*found, *by_hand)


def fragment_of(report: Report) -> str:
    """The session in a notebook: what is wrong, what was tried, and the patch."""
    best = report.best
    parts: list[Html | None] = [tag("div", report.page.headline)]
    if report.trials:
        parts.append(table(Table("", _COLUMNS, tuple(_row(trial) for trial in report.trials))))
    for trial in report.chain:
        parts.append(tag("div", tag("b", trial.candidate.title), f": {outcome_of(trial)}"))
    if report.together is not None:
        parts.append(tag("div", f"Together, beside the unchanged script: {outcome_of(report.together)}"))
    if report.diff:
        parts.append(block(report.diff.splitlines()))
    parts += [tag("div", note) for note in report.notes]
    verdict = report.page.verdict if best is None else best.verdict
    return fragment(f"traindx {report.command} · {report.name}", parts, verdict=verdict)


def fragment_of_trial(trial: Trial) -> str:
    """One change and its verdict in a notebook."""
    candidate = trial.candidate
    aside = f"{candidate.fix}, for {candidate.cause}" if candidate.cause else candidate.fix
    parts: list[Html | None] = [
        tag("div", outcome_of(trial)), table(Table("", _COLUMNS, (_row(trial),))),
        tag("div", trial.note) if trial.note else None,
    ]  # fmt: skip
    return fragment(f"{candidate.title}: {candidate.change}", parts, verdict=trial.verdict, aside=aside)


def _row(trial: Trial) -> tuple[Cell, ...]:
    effect = trial.effect
    bounds = "" if effect is None or effect.interval is None else f"{effect.interval[0]:.2g} … {effect.interval[1]:.2g}"
    before, after = (None, None) if effect is None else (effect.before, effect.after)
    cleared = trial.note or ", ".join(trial.cleared) or "–"
    return trial.candidate.fix, trial.candidate.change, word_of(trial), before, after, bounds, trial.seeds, cleared
