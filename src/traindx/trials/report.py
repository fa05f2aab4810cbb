"""The page of a session: what was tried, what came of it, and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.reporters.layout import Ink, Style, ends, hanging, shorten, table, wrap
from traindx.reporters.wording import VERDICT_WORD, clean, clean_lines, percent
from traindx.trials.brief import Repair, brief_of
from traindx.trials.judge import Basis, Effect
from traindx.trials.outcome import Trial
from traindx.trials.plan import Manual

SCHEMA = "traindx.fix/1"
_STYLES: dict[str, Style] = {"helped": "green", "no-effect": "dim", "worse": "red", "failed": "yellow"}
_DIFF_LINES = 40
_LABEL = 15
_NOTE_ROOM = 34
_HELPS: dict[tuple[str, str | None], str] = {
    ("fix", "error"): "A FIX HELPS",
    ("fix", "fault"): "A FIX REMOVES THE FAULT",
    ("trial", "error"): "IT HELPS",
    ("trial", "fault"): "IT REMOVES THE FAULT",
}
_TOGETHER = {"error": "FIXES HELP", "fault": "FIXES REMOVE THE FAULT"}
DEARER = 2.0  # times the time of a step: worth a word, and more than a busy machine does


@dataclass(frozen=True)
class Report:
    """Everything a session found. `page` is the diagnosis after the trials."""

    name: str
    page: Diagnosis
    trials: tuple[Trial, ...]
    best: Trial | None
    diff: str
    by_hand: tuple[Manual, ...] = ()
    notes: tuple[str, ...] = ()
    before: Diagnosis | None = None  # the diagnosis before the trials
    alone: Diagnosis | None = None  # the same without what past cases add to it
    command: str = "fix"
    writing: bool = False  # the diff is about to be applied, if its owner agrees
    together: Trial | None = (
        None  # where the best is a change on top of others: all of them beside the unchanged script
    )

    @property
    def chain(self) -> tuple[Trial, ...]:
        """The changes that help together, each with what it adds to those before it."""
        if self.best is None:
            return ()
        known = {trial.candidate.change: trial for trial in self.trials}
        return tuple(known.get(one.change, self.best) for one in self.best.candidate.chain)

    @property
    def basis(self) -> Basis | None:
        """What it rests on that the best change helps, with those it is made on top of."""
        best = self.together or self.best
        return None if best is None else best.basis

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "diagnosis": self.page.to_json(),
            "trials": [_trial_json(trial) for trial in self.trials],
            "best": " + ".join(trial.candidate.fix for trial in self.chain) or None,
            "diff": self.diff,
            "together": None if self.together is None else _trial_json(self.together),
            "notes": list(self.notes),
            "brief": None if (brief := self.brief) is None else brief.to_json(),
        }

    @property
    def brief(self) -> Repair | None:
        """What a repair by hand must satisfy."""
        return brief_of(self.before or self.page, self.name)

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from traindx.trials.page import fragment_of

        return fragment_of(self)


def _trial_json(trial: Trial) -> dict[str, Any]:
    return {
        "fix": trial.candidate.fix, "cause": trial.candidate.cause, "verdict": trial.verdict, "basis": trial.basis,
        "effect": None if trial.effect is None else _effect_json(trial.effect), "cleared": list(trial.cleared),
        "steps": trial.steps, "seeds": trial.seeds, "change": trial.candidate.change, "note": trial.note,
        "cost": round(trial.cost, 3), "side_effects": list(trial.brought),
        "on": [one.fix for one in trial.candidate.chain[:-1]],
    }  # fmt: skip


def _effect_json(effect: Effect) -> dict[str, Any]:
    bounds = None if effect.interval is None else [_number(bound) for bound in effect.interval]
    return {
        "metric": effect.metric,
        "before": _number(effect.before),
        "after": _number(effect.after),
        "interval": bounds,
    }


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def render(report: Report, *, color: bool, width: int) -> str:
    ink, width = Ink(color), max(40, min(width, 100))
    lines = _title(report, ink, width)
    if report.trials:
        lines += ["", f"  {ink('Tried', 'heading')}", *_tried(report.trials, ink)]
    lines += ["", *_conclusion(report, ink, width)]
    return "\n".join(lines) + "\n"


def _title(report: Report, ink: Ink, width: int) -> list[str]:
    page = report.page
    word = VERDICT_WORD[page.verdict] if report.best is None else _HELPS[report.command, report.basis]
    if report.together is not None and report.basis is not None:
        word = f"{len(report.chain)} {_TOGETHER[report.basis]}"
    lines = ends(f"traindx {report.command} · {clean(report.name)} · {page.run.steps} steps", word, width)
    style: Style = (
        "green"
        if report.best is not None or page.verdict == "healthy"
        else "red"
        if page.verdict == "unhealthy"
        else "yellow"
    )
    lines[-1] = lines[-1].removesuffix(word) + ink(word, style)
    lines += wrap(clean(page.headline), width)
    first = next((h for h in page.hypotheses if h.cause not in ("healthy", "other")), None)
    if page.verdict != "healthy" and first is not None:
        was = (
            next((h.confidence for h in report.before.hypotheses if h.cause == first.cause), None)
            if report.before
            else None
        )
        moved = f", {percent(was)} before the trials" if was is not None and abs(was - first.confidence) >= 0.01 else ""
        lines += [
            "",
            *hanging(
                f"  {ink('Cause', 'heading')}",
                [f"{first.title} ({first.cause}, {percent(first.confidence)}{moved})"],
                _LABEL,
                width,
            ),
        ]
        lines += hanging("    for", [clean(text) for text in first.supports[:2]], _LABEL, width)
        for other in page.also:
            stated = f"{other.title} ({other.cause}, {percent(other.confidence)})"
            lines += hanging(f"  {ink('Also', 'heading')}", [stated, *map(clean, other.supports[:1])], _LABEL, width)
    return lines


def _tried(trials: Sequence[Trial], ink: Ink) -> list[str]:
    rows = [["", "fix", "change", "verdict", "before", "after", "× (95 %)", "seeds", "clears"]]
    for trial in trials:
        effect = trial.effect
        before = after = interval = ""
        if effect is not None:
            before, after = _short(effect.before), _short(effect.after)
            interval = "" if effect.interval is None else f"{effect.interval[0]:.2g} … {effect.interval[1]:.2g}"
        rows.append([
            "   ", trial.candidate.fix, _change(trial), word_of(trial), before, after, interval, str(trial.seeds),
            _cleared(trial),
        ])  # fmt: skip
    lines = table(rows, right=frozenset({"before", "after", "seeds"}))
    coloured = [ink(lines[0], "dim")]
    for line, trial in zip(lines[1:], trials, strict=True):
        word = word_of(trial)
        coloured.append(line.replace(f"  {word}", f"  {ink(word, _STYLES[trial.verdict])}", 1))
    metrics = {trial.effect.metric for trial in trials if trial.effect is not None}
    if metrics:
        coloured.append(
            ink(f"    before and after: {', '.join(sorted(metrics))}, less is better; × is after ÷ before", "dim")
        )
    for change, mark in {t.candidate.on.change: _mark(t) for t in trials if t.candidate.on is not None}.items():
        coloured.append(ink(f"    {mark} on top of {change}, and compared with that", "dim"))
    return coloured


def _mark(trial: Trial) -> str:
    """'+' before what is on top of one change, '++' on top of two."""
    return "+" * (len(trial.candidate.chain) - 1)


def _change(trial: Trial) -> str:
    """What a trial changes itself."""
    return f"{_mark(trial)} {' + '.join(map(str, trial.candidate.settings))}".strip()


def _cleared(trial: Trial) -> str:
    """The first symptom that went and how many more; or why there is none."""
    if trial.note:
        return shorten(trial.note, _NOTE_ROOM)
    more = f" +{len(trial.cleared) - 1}" if len(trial.cleared) > 1 else ""
    return f"{trial.cleared[0]}{more}" if trial.cleared else "-"


def word_of(trial: Trial) -> str:
    """The verdict as people read it: one pair is no proof, and a fault that is gone is no smaller error."""
    if trial.open:
        return "better once"
    return "fault gone" if trial.basis == "fault" else trial.verdict


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "lost"


def _conclusion(report: Report, ink: Ink, width: int) -> list[str]:
    lines: list[str] = []
    best = report.best
    if best is not None:
        lines += _best_fix(report, best, ink, width)
    elif report.page.verdict == "healthy":
        lines += hanging(
            f"  {ink('Nothing to fix', 'heading')}", ["No change was tried, and none is recommended."], 19, width
        )
    elif any(trial.open for trial in report.trials):
        stated = "What looked better did so in one pair of runs, which may be chance; more time (--budget) settles it."
        lines += hanging(f"  {ink('Not settled', 'heading')}", [stated], _LABEL, width)
    elif report.trials:
        stated = "None of the changes made the training measurably better."
        lines += hanging(f"  {ink('No fix helped', 'heading')}", [stated], _LABEL + 2, width)
    if best is None or not report.diff:
        for step in report.by_hand:
            where = f" at {step.where}" if step.where else ""
            lines += hanging(
                f"  {ink('By hand', 'heading')}", [f"{step.title}{where} ({step.fix}, for {step.cause})"], _LABEL, width
            )
            lines += [f"{' ' * _LABEL}{ink(line, 'cyan')}" for line in clean_lines(step.code)[:8]]
    for note in report.notes:
        lines += hanging(f"  {ink('Note', 'heading')}", [clean(note)], _LABEL, width)
    if report.diff and report.command == "fix" and not report.writing:
        lines += hanging(
            f"  {ink('Next', 'heading')}",
            ["the same command with --write applies the diff; traindx fix --undo takes it back"],
            _LABEL,
            width,
        )
    return lines


def _best_fix(report: Report, best: Trial, ink: Ink, width: int) -> list[str]:
    """The change that helped most, what it costs and brings, and its diff."""
    lines: list[str] = []
    for place, trial in enumerate(report.chain):
        label = "    then" if place else f"  {ink('Best fix', 'heading')}"
        lines += hanging(label, [clean(_said(trial))], _LABEL, width)
    if report.together is not None:
        stated = f"beside the unchanged script: {outcome_of(report.together)}"
        lines += hanging("    together", [clean(stated)], _LABEL, width)
    if best.cost >= DEARER and best.effect is not None and math.isfinite(best.effect.before):
        lines += hanging("    cost", [f"a step takes {best.cost:.1f} times as long"], _LABEL, width)
    if best.brought:
        lines += hanging(
            "    brings", [f"{', '.join(best.brought)}, which the unchanged script does not show"], _LABEL, width
        )
    diff = report.diff.splitlines()
    lines += [f"    {_inked(line, ink)}" for line in map(clean, diff[:_DIFF_LINES])]
    if len(diff) > _DIFF_LINES:
        lines.append(f"    … {len(diff) - _DIFF_LINES} more lines")
    return lines


def _said(trial: Trial) -> str:
    candidate = trial.candidate
    return (
        f"{candidate.title} ({candidate.fix}: {_change(trial).lstrip('+ ')}, {candidate.safety}): {outcome_of(trial)}"
    )


def outcome_of(trial: Trial) -> str:
    """What a trial showed, in one sentence."""
    effect = trial.effect
    cleared = f"clears {', '.join(trial.cleared)}" if trial.cleared else ""
    if trial.verdict == "helped" and trial.wanted and not trial.cleared:
        cleared = f"not ruled out yet: {', '.join(trial.wanted[:3])}"
    if effect is None:
        if trial.basis == "fault":
            return f"the fault is gone over {trial.seeds} seeds ({cleared}); it is judged by that alone"
        return "; ".join(filter(None, (trial.verdict, cleared)))
    times = (
        ""
        if effect.interval is None or not math.isfinite(effect.before)
        else f" (× {effect.interval[0]:.2g} to {effect.interval[1]:.2g}, 95 %)"
    )
    stated = f"{effect.metric} {_short(effect.before)} → {_short(effect.after)}{times} over {trial.seeds} seeds"
    if trial.basis == "fault":
        return f"the fault is gone ({cleared}); the error is not shown to change: {stated}"
    return "; ".join(filter(None, (stated, cleared)))


def _inked(line: str, ink: Ink) -> str:
    return ink(line, "green") if line.startswith("+") else ink(line, "red") if line.startswith("-") else line
