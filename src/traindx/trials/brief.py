"""What is asked of whoever repairs a script by hand: the line, what is wrong, and what must hold afterwards, as checks
that can be run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis, Observation
from traindx.errors import TraindxError
from traindx.fixes import fixes
from traindx.symptoms import symptoms
from traindx.trials.plan import EXCUSED, wanted_by

SCHEMA = "traindx.brief/1"


@dataclass(frozen=True)
class Check:
    """A symptom that must be gone."""

    symptom: str
    now: str  # what was measured before the repair

    def to_json(self) -> dict[str, str]:
        return {"absent": self.symptom, "now": self.now}


@dataclass(frozen=True)
class Repair:
    """`attempts` are patches that were judged and what they left undone."""

    script: str
    cause: str
    title: str
    line: str | None
    evidence: tuple[str, ...]
    fix: str
    code: str
    checks: tuple[Check, ...]
    do_not: tuple[str, ...]
    attempts: tuple[str, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA, "script": self.script, "cause": self.cause, "title": self.title, "line": self.line,
            "evidence": list(self.evidence), "fix": self.fix, "example": self.code,
            "must_hold": [check.to_json() for check in self.checks], "do_not": list(self.do_not),
            "rules": ["Change as few lines as possible.", "Keep formatting and comments.",
                      "Change nothing that the cause does not ask for."],
            "prove": [f"traindx trial --patch FILE.diff {self.script}",
                      f"traindx check --expects BRIEF.json {self.script}"],
            "attempts": list(self.attempts),
        }  # fmt: skip


def brief_of(page: Diagnosis, script: str, attempts: Sequence[str] = ()) -> Repair | None:
    """For the first cause of a page; None where nothing is wrong."""
    first = next((h for h in page.hypotheses if h.cause not in EXCUSED), None)
    if first is None or page.verdict == "healthy":
        return None
    clears = fixes()[first.fix.id].clears if first.fix is not None else ()
    there = {symptom.id: symptom.evidence for symptom in page.present()}
    wanted = [one for one in wanted_by(first.cause, clears) if one in there]
    return Repair(
        script, first.cause, first.title, first.where, first.supports, first.fix.title if first.fix else "",
        first.fix.code.strip() if first.fix else "", tuple(Check(one, there[one]) for one in wanted), first.do_not,
        tuple(attempts),
    )  # fmt: skip


def expected(path: Path) -> list[str]:
    """The symptoms that a brief wants gone."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        wanted = [str(one["absent"]) for one in data["must_hold"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TraindxError(f"{path} is no brief: {error}.", "traindx fix --brief FILE writes one.") from error
    unknown = [one for one in wanted if one not in symptoms()]
    if unknown or not wanted:
        raise TraindxError(f"{path} expects nothing that can be checked: {', '.join(unknown)}.", "See traindx list.")
    return wanted


def checked(page: Diagnosis, wanted: Sequence[str]) -> list[Observation]:
    """What the page says of each."""
    known = {symptom.id: symptom for symptom in page.symptoms}
    return [known.get(one, Observation(one, "unknown", "Not measured.")) for one in wanted]
