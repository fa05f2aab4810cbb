"""A fix as lines to show: the diff of the user's own script where there is one, else the code to adapt."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from traindx.diagnosis import FixProposal
from traindx.reporters.wording import clean, clean_lines

_HUNK = re.compile(r"@@ -(\d+)")


@dataclass(frozen=True)
class Change:
    """Lines that stand together in one file; `lines` begin with '-', '+' or ' '."""

    place: str
    lines: tuple[str, ...]


def changes(diff: str) -> list[Change]:
    """What a unified diff changes, without what surrounds it and without empty lines; what is only added keeps the line
    before it."""
    found: list[Change] = []
    file, number, before, place, pending = "", 0, "", 0, list[str]()

    def close() -> None:
        if pending:
            added = not any(line.startswith("-") for line in pending)
            lines = [f" {before}", *pending] if added and before.strip() else list(pending)
            found.append(
                Change(f"{clean(file)}:{max(place - (len(lines) > len(pending)), 1)}", tuple(_dedented(lines)))
            )
            pending.clear()

    for line in diff.split("\n"):
        hunk = _HUNK.match(line)
        if line.startswith("+++ b/"):
            file = line[4:].partition("\t")[0].removeprefix("b/")
        elif hunk:
            close()
            number, before = int(hunk.group(1)), ""
        elif line.startswith("--- a/"):
            close()
            number = 0
        elif line.startswith("\\") or not number:
            continue
        elif line.startswith(("-", "+")):
            if line[1:].strip():  # an empty line that comes or goes is nothing to read
                place = place if pending else number
                pending.append(line)
            number += line.startswith("-")
        else:
            close()
            before, number = line[1:], number + 1
    close()
    return found


def _dedented(lines: list[str]) -> Iterator[str]:
    """Without the indentation that all of them have; nothing in them reaches the terminal but text."""
    shown = clean_lines("\n".join(line[1:] or " " for line in lines))
    for line, text in zip(lines, textwrap.dedent("\n".join(shown)).split("\n"), strict=False):
        yield f"{line[0]} {text}".rstrip()


def recipe(fix: FixProposal) -> list[str]:
    """The fix in as few lines as possible: each place with the lines that go and come, or the code."""
    return [line for change in changes(fix.diff) for line in (change.place, *change.lines)] or clean_lines(fix.code)


def whole(fix: FixProposal) -> list[str]:
    """The fix to paste or apply: the whole diff, or the code."""
    return clean_lines(fix.diff.rstrip("\n") or fix.code)
