"""Holding the line: what people say instead of answering. A sentence that assumes a cause gets the entry of the
misdiagnosis table and its check; a problem that is none of learning is handed over; a described symptom is noted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from traindx.misdiagnoses import HAND_OVERS, HandOver, Misdiagnosis, misdiagnoses
from traindx.questions import questions

Kind = Literal["hand-over", "misdiagnosis", "symptoms"]
LONGEST = 2000  # characters of a sentence that are looked at
RANGE_TEST = "traindx lr-range train.py"
QUICK = "traindx sanity train.py"
DIAGNOSE = "traindx diagnose LOG"


@dataclass(frozen=True)
class Reply:
    """`title` says what was recognised, `lines` what to know, `command` the thirty-second check; `ticks` are choices of
    the first question that the sentence describes."""

    kind: Kind
    title: str
    lines: tuple[str, ...] = ()
    command: str = ""
    ticks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "title": self.title, "lines": list(self.lines), "command": self.command,
                "ticks": list(self.ticks)}  # fmt: skip


def recognise(text: str) -> Reply | None:
    """What a sentence is about, or None. A hand-over comes before everything else: no symptom of a crash is one of
    learning."""
    said = " ".join(text[:LONGEST].lower().split())
    ticks = described(said)
    for problem in HAND_OVERS:
        if _matches(problem.cues, said):
            return _handed_over(problem)
    for row in _by_length(said):
        return _held(row, ticks)
    if ticks:
        choices = {choice.id: choice.text for choice in questions()["symptoms"].choices}
        return Reply("symptoms", "noted: " + "; ".join(choices[tick] for tick in ticks), ticks=ticks)
    return None


def described(said: str) -> tuple[str, ...]:
    """The symptoms a sentence describes, as choices of the first question."""
    return tuple(c.id for c in questions()["symptoms"].choices if c.cues and _matches(c.cues, said.lower()))


def _by_length(said: str) -> list[Misdiagnosis]:
    """The rows that match, the one that explains most of the sentence first."""
    scored = [
        (max((len(m.group(0)) for cue in row.cues for m in re.finditer(cue, said)), default=0), row)
        for row in misdiagnoses()
    ]
    return [row for length, row in sorted(scored, key=lambda pair: -pair[0]) if length]


def _held(row: Misdiagnosis, ticks: tuple[str, ...]) -> Reply:
    suggested = RANGE_TEST if "range test" in row.check else QUICK if "batch" in row.check else DIAGNOSE
    lines = (f"assumes: {row.thinks}", f"usually: {row.usually}", f"30-second check: {row.check}")
    return Reply("misdiagnosis", f"“{row.says}”", lines, row.command or suggested, ticks)


def _handed_over(problem: HandOver) -> Reply:
    return Reply(
        "hand-over",
        f"{problem.what}: not a problem of learning, so there is no diagnosis for it here",
        (f"go to: {problem.go_to}",),
    )


def _matches(cues: tuple[str, ...], said: str) -> bool:
    return any(re.search(cue, said) for cue in cues)
