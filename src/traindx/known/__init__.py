"""Known issues of library versions: one module each, registered by being there. They are named beside the causes and
never move a probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from traindx.diagnosis import KnownIssueNote, Observation
from traindx.known.base import KnownIssue
from traindx.registry import load_units
from traindx.run import Run
from traindx.versions import known_versions


@cache
def known_issues() -> dict[str, KnownIssue]:
    """Every known issue by its id."""
    return load_units(__name__, __path__, "ISSUE", KnownIssue)


def matching(run: Run, observations: Sequence[Observation]) -> tuple[KnownIssueNote, ...]:
    """The known issues that this run shows. The versions must be known and in the range; where they are not known, only
    a text that nothing else says is enough, and then the note says 'if'."""
    versions = known_versions(run.config)
    said = (*(event.text for event in run.events), *run.said, *run.last_lines)
    present = frozenset(seen.id for seen in observations if seen.state == "present")
    notes = []
    for issue in known_issues().values():
        affected = issue.affected(versions)
        if affected is None and (not issue.unmistakable or issue.ruled_out(versions)):
            continue
        if issue.signature.seen(run.config, said, present):
            notes.append(_note(issue, affected))
    return tuple(sorted(notes, key=lambda note: not note.certain))


def installed(versions: Mapping[str, str]) -> list[tuple[KnownIssue, dict[str, str]]]:
    """The faults and clashes that these versions have, with the versions that matter."""
    pairs = ((issue, issue.affected(versions)) for issue in known_issues().values() if issue.kind != "changed")
    return [(issue, affected) for issue, affected in pairs if affected is not None]


def _note(issue: KnownIssue, affected: Mapping[str, str] | None) -> KnownIssueNote:
    return KnownIssueNote(
        issue.id, issue.title, dict(affected or {}), " and ".join(issue.affects), issue.happens, issue.do, issue.source
    )
