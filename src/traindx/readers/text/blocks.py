"""A file as blocks of whole lines: UTF-8, newline only, small enough to stay in the processor's cache."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from traindx.readers.source import Source

BLOCK_BYTES = 1 << 18  # parsing is fastest while a block and its numbers fit the second-level cache
MAX_ROW_BYTES = 1 << 22  # a longer line is no row; it is dropped


def line_blocks(source: Source) -> Iterator[tuple[bytes, bool]]:
    """Blocks of one or more lines without the newline that ends the block, and whether it had one: the last line of a
    file that was cut off has not. Carriage returns and NUL bytes (what a power loss leaves) are dropped; a file that
    only has carriage returns has them as line ends."""
    rest = b""
    dropping = False
    for chunk in _clean_chunks(source):
        end = chunk.rfind(b"\n")
        if end < 0:
            rest = b"" if dropping else rest + chunk
            if len(rest) > MAX_ROW_BYTES:
                rest, dropping = b"", True
            continue
        start = 0
        if dropping:
            start = chunk.find(b"\n") + 1
            dropping = False
        for piece in _pieces(chunk, start, end):
            if rest or piece:
                yield b"".join((rest, piece)), True
            rest = b""
        rest = chunk[end + 1 :]
    if rest:
        yield rest, False


def _pieces(chunk: bytes, start: int, end: int) -> Iterator[memoryview]:
    """Lines in pieces of about the same size: each has a fixed cost, so there are no small ones."""
    size = (end - start) // max(1, round((end - start) / BLOCK_BYTES))
    view = memoryview(chunk)
    while start <= end:
        stop = chunk.find(b"\n", min(start + size, end))
        yield view[start:stop]
        start = stop + 1


def _clean_chunks(source: Source) -> Iterator[bytes]:
    decoder = (
        codecs.getincrementaldecoder(source.encoding)(errors="replace")
        if source.encoding.startswith("utf-16")
        else None
    )
    only_returns = b"\n" not in source.head and b"\r" in source.head
    first = True
    for chunk in source.chunks():
        data = decoder.decode(chunk).encode("utf-8", errors="replace") if decoder else chunk
        if first:
            data = data.removeprefix(codecs.BOM_UTF8)
            first = False
        if b"\r" in data:
            data = data.replace(b"\r", b"\n" if only_returns else b"")
        if b"\x00" in data:
            data = data.replace(b"\x00", b"")
        yield data
