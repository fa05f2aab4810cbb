"""A printed table that was too wide for its terminal: pandas wraps it into blocks of columns, each with a header that
ends in a backslash but for the last, over the same rows. Put side by side again it is one table."""

from __future__ import annotations

from traindx.readers.source import MemorySource, Source

MOST_BYTES = 4 << 20  # of a table that somebody printed
FEWEST_ROWS = 2


def unwrapped(source: Source) -> Source:
    """The source as one table; as it is where it is none that was wrapped."""
    if not any(line.rstrip().endswith("\\") for line in source.text_head.splitlines()) or source.size > MOST_BYTES:
        return source
    blocks = _blocks(list(source.lines()))
    if len(blocks) < 2 or len({len(block) for block in blocks}) != 1 or len(blocks[0]) <= FEWEST_ROWS:
        return source
    rows = [blocks[0]] + [
        [_without_index(line, first) for line, first in zip(b, blocks[0], strict=True)] for b in blocks[1:]
    ]
    joined = ["  ".join(part.rstrip() for part in parts) for parts in zip(*rows, strict=True)]
    return MemorySource(("\n".join(joined) + "\n").encode("utf-8"), source.path, source.name)


def _blocks(lines: list[str]) -> list[list[str]]:
    """The blocks of a wrapped table, without the backslashes; all but the last have one in their header."""
    found: list[list[str]] = []
    block: list[str] = []
    for line in [*lines, ""]:
        text = line.rstrip().rstrip("\\").rstrip()
        if text:
            block.append(text)
        elif block:
            found.append(block)
            block = []
    return found


def _without_index(line: str, first: str) -> str:
    """A row of a later block without the row's number, which the first block has; a header has none."""
    index = first.split(maxsplit=1)[0] if first.strip() else ""
    stripped = line.lstrip()
    number = stripped.split(maxsplit=1)
    return number[1] if len(number) == 2 and number[0] == index and index.isdigit() else stripped
