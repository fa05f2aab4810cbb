"""A diagnosis as a list of findings, for the formats that machines of code review and CI read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from traindx.diagnosis import Diagnosis, Hypothesis, Observation
from traindx.reporters.wording import clean, leading, percent, placed, run_name, supports, title_of

Level = Literal["error", "warning", "note"]
_SOURCE_LINE = re.compile(r"(?P<file>.+\.py):(?P<line>\d+)")


@dataclass(frozen=True)
class Finding:
    """One thing to tell. `file` and `line` are in the user's code where the evidence has such a place."""

    rule: str
    kind: Literal["cause", "symptom", "verdict"]
    level: Level
    title: str
    lines: tuple[str, ...]
    run: str
    source: str
    file: str | None = None
    line: int | None = None
    confidence: float | None = None


def findings(diagnosis: Diagnosis) -> list[Finding]:
    """The cause to act on first and those at work beside it, then what was seen; a run without any still says its
    verdict."""
    present = [symptom for symptom in diagnosis.present() if severe(symptom)]
    first = leading(diagnosis)
    found = [] if first is None else [_cause(diagnosis, hypothesis) for hypothesis in (first, *diagnosis.also)]
    found += [_symptom(diagnosis, symptom) for symptom in present]
    if first is None and found and diagnosis.verdict == "unhealthy":  # the cause is unclear, that it is ill is not
        found[0] = replace(found[0], level="error")
    return found or [_verdict(diagnosis)]


def severe(symptom: Observation) -> bool:
    """Whether the symptom is a problem; the others are notes that a healthy run may show too."""
    from traindx.symptoms import symptoms

    known = symptoms().get(symptom.id)
    return known is None or known.severity == "problem"


def source_line(where: str | None) -> tuple[str | None, int | None]:
    """The file and line of a place such as train.py:41; nothing for a layer or a series."""
    found = _SOURCE_LINE.fullmatch(where or "")
    return (clean(found["file"]), int(found["line"])) if found else (None, None)


def _cause(diagnosis: Diagnosis, hypothesis: Hypothesis) -> Finding:
    places = [source_line(hypothesis.where)]
    places += [source_line(symptom.where) for symptom in diagnosis.present() if symptom.evidence in hypothesis.supports]
    file, line = next((place for place in places if place[0]), (None, None))
    lines = [
        f"{run_name(diagnosis)}: {clean(diagnosis.headline)}",
        *(f"for: {t}" for t in supports(diagnosis, hypothesis)),
    ]
    lines += [f"against: {clean(text)}" for text in hypothesis.contradicts]
    if hypothesis.fix is not None:
        lines.append(f"fix: {hypothesis.fix.title} ({hypothesis.fix.id}, {hypothesis.fix.safety})")
    lines += [f"do not: {clean(text)}" for text in hypothesis.do_not]
    lines.append(f"next: {clean(diagnosis.next)}")
    level: Level = "error" if diagnosis.verdict == "unhealthy" else "warning"
    title = f"{title_of(hypothesis)} ({percent(hypothesis.confidence)})"
    return Finding(
        hypothesis.cause, "cause", level, title, tuple(lines), run_name(diagnosis), diagnosis.run.source, file, line,
        hypothesis.confidence,
    )  # fmt: skip


def _symptom(diagnosis: Diagnosis, symptom: Observation) -> Finding:
    from traindx.symptoms import symptoms

    known = symptoms().get(symptom.id)
    file, line = source_line(symptom.where)
    return Finding(
        symptom.id, "symptom", "warning" if diagnosis.verdict == "unhealthy" else "note",
        clean(symptom.id) if known is None else known.title, (f"{run_name(diagnosis)}: "
                                                              f"{placed(symptom, diagnosis.run.axis)}",),
        run_name(diagnosis), diagnosis.run.source, file, line,
    )  # fmt: skip


def _verdict(diagnosis: Diagnosis) -> Finding:
    lines = [f"{run_name(diagnosis)}: {clean(diagnosis.headline)}"]
    unknown = sum(symptom.state == "unknown" for symptom in diagnosis.symptoms)
    lines += [f"{unknown} symptoms could not be looked for: the evidence is not there."] * bool(unknown)
    lines += [clean(diagnosis.next)] * bool(diagnosis.next)
    return Finding(
        diagnosis.verdict, "verdict", "note", f"traindx: {diagnosis.verdict}", tuple(lines), run_name(diagnosis),
        diagnosis.run.source,
    )  # fmt: skip
