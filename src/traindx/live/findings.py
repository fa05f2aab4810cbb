"""What an observer has found so far, so that each fact is said once and one innocent call site does not take back what
another showed."""

from __future__ import annotations

from dataclasses import dataclass

from traindx.live.hub import Hub


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: a fact seen (`present`) or looked for and not seen."""

    id: str
    present: bool
    evidence: str
    clarity: float = 1.0


class Findings:
    """Passes findings on to the recording: present ones at once, and for good; absent ones only where nothing else was
    said before."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._said: dict[str, tuple[bool, float]] = {}

    def add(self, finding: Finding, where: str | None = None) -> None:
        before = self._said.get(finding.id)
        news = before is None or (finding.present and (not before[0] or finding.clarity > before[1]))
        if news:
            self._said[finding.id] = (finding.present, finding.clarity)
            self._hub.fact(finding.id, finding.present, finding.evidence, where=where or None, clarity=finding.clarity)
