"""Annotations of GitHub Actions: workflow commands, one line a finding, the gravest first.

GitHub shows ten of a kind a step and drops the others, so the order matters; the whole page belongs into the step's
summary (`--format md >> "$GITHUB_STEP_SUMMARY"`)."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.diagnosis import Diagnosis
from traindx.reporters.base import Reporter
from traindx.reporters.findings import Finding, findings

_COMMAND = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = ("error", "warning", "note")
# what a workflow command cannot hold as it is; properties end at a comma and a colon besides
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def render(diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str:
    """One workflow command a finding (colour and width do not matter)."""
    found = [finding for diagnosis in diagnoses for finding in findings(diagnosis)]
    return "".join(f"{_line(finding)}\n" for finding in sorted(found, key=lambda f: _ORDER.index(f.level)))


def _line(finding: Finding) -> str:
    properties = {"title": finding.title}
    if finding.file is not None:
        properties = {"file": finding.file, "line": str(finding.line), **properties}
    written = ",".join(f"{name}={_escaped(value, _IN_PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMAND[finding.level]} {written}::{_escaped(chr(10).join(finding.lines), _IN_MESSAGE)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)


REPORTER = Reporter("github", "github", "annotations of GitHub Actions", (), render)
