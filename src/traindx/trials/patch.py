"""Somebody's patch as a change to be tried: a unified diff applied to the texts of a project, or two versions of them.

Nothing of the user's is written. A hunk must fit exactly, or at another place where its lines stand once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from traindx.casebook.case import YOURS
from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.fixes import fixes
from traindx.trials.plan import EXCUSED, Candidate, wanted_by
from traindx.trials.setting import Setting

MOST_BYTES = 1_000_000
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


@dataclass
class _Hunk:
    start: int  # line of the old file, counted from 1
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def read_patch(path: Path, root: Path) -> dict[str, str]:
    """New contents of the files below the root that a diff changes."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TraindxError(f"{path} cannot be read as a patch: {error}.", "Give a unified diff (git diff).") from error
    edits = applied(text[:MOST_BYTES], root)
    if not edits:
        raise TraindxError(f"{path} changes nothing.", "Give a unified diff of the script (git diff).")
    return edits


def applied(diff: str, root: Path) -> dict[str, str]:
    edits: dict[str, str] = {}
    for before, name, hunks in _files(diff):
        of_git = before.startswith("a/") and name.startswith("b/")
        path = _found(name, root) if of_git else _found(before, root) or _found(name, root)
        if path is None:
            raise TraindxError(
                f"The patch changes {_named(name)}, which is no file below {root}.", "Make it in this directory."
            )
        relative = str(path.relative_to(root.resolve()))
        try:
            text = edits.get(relative) or path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TraindxError(
                f"The patch changes {relative}, which cannot be read.", "Make it in this directory."
            ) from error
        edits[relative] = _with_hunks(text, hunks, relative)
    return edits


def candidate_of(edits: Mapping[str, str], page: Diagnosis, title: str = "Your patch") -> Candidate:
    """A patch as a change to be tried. Where it makes the error no smaller, all that shows the first cause must be
    gone: a patch may as well hide one sign of a fault, which a change of ours does not."""
    cause = next((h.cause for h in page.hypotheses if h.cause not in EXCUSED), "")
    first = next((h for h in page.hypotheses if h.cause == cause), None)
    clears = fixes()[first.fix.id].clears if first is not None and first.fix is not None else ()
    wanted = wanted_by(cause, clears) if cause else ()
    return Candidate(YOURS, title, cause, (Setting("patch"),), wanted, wanted, dict(edits), safety="caution")


def _named(name: str) -> str:
    """Without the time that `diff` writes behind it."""
    return name.partition("\t")[0].strip()


def _found(name: str, root: Path) -> Path | None:
    """The file a diff names, with the `a/` and `b/` of git taken off; never outside of the project. What was changed is
    the file it had before: `diff train.py train_new.py` names both."""
    parts = PurePosixPath(_named(name)).parts
    stripped = parts[1:] if parts[:1] in (("a",), ("b",)) and not (root / Path(*parts)).exists() else parts
    path = (root / Path(*stripped)).resolve() if stripped else root
    return path if path.is_relative_to(root.resolve()) and path.is_file() else None


def _files(diff: str) -> Iterator[tuple[str, str, list[_Hunk]]]:
    """The name before, the name after and the hunks of each file."""
    name, hunks = "", list[_Hunk]()
    before = old = ""
    for line in diff.splitlines():
        inside = bool(hunks) and not _complete(hunks[-1], line)
        if line.startswith("--- ") and not inside:
            before = line[4:]
        elif line.startswith("+++ ") and not inside:
            if name:
                yield old, name, hunks
            old, name, hunks = before, (line[4:] if not line[4:].startswith("/dev/null") else before), []
        elif found := _HUNK.match(line):
            hunks.append(_Hunk(int(found.group(1))))
        elif hunks and line[:1] in (" ", "-", "+", ""):
            if line[:1] != "+":
                hunks[-1].old.append(line[1:])
            if line[:1] != "-":
                hunks[-1].new.append(line[1:])
    if name:
        yield old, name, hunks


def _complete(hunk: _Hunk, line: str) -> bool:
    """A header of another file, which a removed line that begins with dashes is not."""
    return line.startswith(("--- a/", "--- b/", "+++ a/", "+++ b/", "--- /", "+++ /")) or bool(hunk.old or hunk.new)


def _with_hunks(text: str, hunks: list[_Hunk], name: str) -> str:
    lines = text.split("\n")
    moved = 0
    for hunk in hunks:
        place = _place(lines, hunk, max(hunk.start - 1 + moved, 0))
        if place is None:
            raise TraindxError(f"A hunk of the patch does not fit {name} (line {hunk.start}).", "Make it again.")
        lines[place : place + len(hunk.old)] = hunk.new
        moved += len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def _place(lines: list[str], hunk: _Hunk, expected: int) -> int | None:
    """Where the lines of a hunk stand: where it says, or at the only other place."""
    size = len(hunk.old)
    if lines[expected : expected + size] == hunk.old:
        return expected
    found = [place for place in range(len(lines) - size + 1) if lines[place : place + size] == hunk.old]
    return found[0] if len(found) == 1 and size else None
