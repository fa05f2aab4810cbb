"""Lines for a terminal: wrapped and aligned by the cells characters really take, coloured only where allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

Style = Literal["bold", "dim", "red", "green", "yellow", "cyan", "heading"]
_CODES: dict[Style, str] = {
    "bold": "1", "dim": "2", "red": "1;31", "green": "1;32", "yellow": "1;33", "cyan": "36", "heading": "1",
}  # fmt: skip


_CUT = "…"
_WORD = re.compile(r"[^_\-/ ]+[_\-/ ]?|[_\-/ ]")  # of a name, with what ends it


class Ink:
    """Colours text, or leaves it alone. The words alone must say everything; colour only supports them."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, text: str, style: Style) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color and text.strip() else text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells; a word longer than a line is cut, and a number keeps its percent sign. No text is
    one empty line."""
    width = max(width, 1)
    lines: list[str] = []
    line = ""
    words: list[str] = []
    for word in text.split():
        if words and word.startswith("%"):
            words[-1] += f" {word}"
        else:
            words.append(word)
    for word in words:
        for piece in chop_cells(word, width) if cell_len(word) > width else [word]:
            if line and cell_len(line) + 1 + cell_len(piece) > width:
                lines.append(line)
                line = piece
            else:
                line = f"{line} {piece}" if line else piece
    return [*lines, line]


def fitting(lead: str, words: Sequence[str], width: int) -> str:
    """As many of the words as `width` cells hold, and how many more there are; never less than one."""
    for shown in range(len(words), 1, -1):
        more = f" and {len(words) - shown} more" if shown < len(words) else ""
        line = f"{lead}{', '.join(words[:shown])}{more}"
        if cell_len(line) <= width:
            return line
    return f"{lead}{', '.join(words[:1])}" + (f" and {len(words) - 1} more" if len(words) > 1 else "")


def shorten(text: str, width: int) -> str:
    """At most `width` cells: what is too long loses its middle, since the ends of a path tell most."""
    if cell_len(text) <= width:
        return text
    if width < 3:
        return set_cell_size(text, max(width, 0))
    head = (width - 1) // 3
    tail = text
    while cell_len(tail) > width - 1 - head:
        tail = tail[1:]
    return f"{set_cell_size(text, head).rstrip()}…{tail}"


def distinguished(names: Sequence[str], width: int) -> dict[str, str]:
    """Each name in at most `width` cells. Of those that are too long and begin alike, what they all begin and end with
    goes first: two that are cut in the middle may look the same."""
    shown = {name: name for name in names}
    alike: dict[str, list[list[str]]] = {}
    for name in shown:
        if cell_len(name) > width:
            words = _WORD.findall(name)
            alike.setdefault(words[0], []).append(words)
    for group in alike.values():
        begin, end = _shared(group), _shared([one[::-1] for one in group])
        for own in group:
            first, last = max(begin - 1, 0), max(len(own) - end, begin)  # with one word before, to say what differs
            cut = own if len(group) == 1 else [_CUT * (first > 0), *own[first:last], _CUT * (last < len(own))]
            shown["".join(own)] = shorten("".join(cut), width)
    return shown


def _shared(words: Sequence[Sequence[str]]) -> int:
    """How many words all of them begin with."""
    return next((place for place, one in enumerate(zip(*words, strict=False)) if len(set(one)) > 1), 0)


def pad(text: str, width: int) -> str:
    """Filled with spaces to `width` cells, never cut."""
    return text + " " * max(0, width - cell_len(text))


def ends(left: str, right: str, width: int) -> list[str]:
    """`left` at the left edge and `right` at the right one; on two lines where both do not fit."""
    gap = width - cell_len(left) - cell_len(right)
    return [f"{left}{' ' * gap}{right}"] if gap >= 1 else [left, " " * max(0, width - cell_len(right)) + right]


def hanging(label: str, texts: Sequence[str], indent: int, width: int) -> list[str]:
    """Texts under one label: the label stands once, every text starts at column `indent` and wraps there."""
    lines: list[str] = []
    lead = label
    for text in texts:
        for piece in wrap(text, width - indent):
            lines.append(f"{pad(lead, indent)}{piece}".rstrip())
            lead = ""
    return lines


def narrowed(code: Sequence[str], width: int) -> list[str]:
    """Code whose comments fit: one that would stick out stands wrapped above its line. The code itself is never cut."""
    lines: list[str] = []
    for line in code:
        statement, mark, comment = line.rpartition("# ")
        indent = line[: len(line) - len(line.lstrip())]
        # a hash inside a string is no comment: only one after two spaces, or at the beginning of the line, is taken for
        # it
        if mark and cell_len(line) > width and (not statement.strip() or statement.endswith("  ")):
            lines += [f"{indent}# {piece}" for piece in wrap(comment, width - len(indent) - 2)]
            line = statement.rstrip()
        if line or not mark:
            lines.append(line)
    return lines


def table(rows: Sequence[Sequence[str]], *, right: frozenset[str] = frozenset()) -> list[str]:
    """Rows as aligned columns, two spaces apart; the first row is the head, and columns in `right` align to the
    right."""
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            " " * (width - cell_len(cell)) + cell if rows[0][column] in right else pad(cell, width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
