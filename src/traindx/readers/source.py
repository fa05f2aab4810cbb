"""A file to be read: its head for sniffing, its lines, and the settings that lie beside it."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, cast

from traindx.readers.reach import may_read, open_file

TAIL_BYTES = 16 << 10
HEAD_BYTES = 1 << 16
MIN_HOLE = 64  # zeros; UTF-16 has one beside each letter
CHUNK_BYTES = 1 << 20
MAX_LINE = 1 << 18  # a longer line is no log line; the rest of it is skipped
UNPACKED_BYTES = 64 << 20  # of a gzip, and
UNPACKED_RATIO = 100  # times its own size; logs shrink to a tenth, the most repetitive to a fiftieth
_GZIP = b"\x1f\x8b"
Progress = Callable[[int, int], None]  # bytes done, bytes in all


def read_up_to(file: BinaryIO, count: int) -> tuple[bytes, bool]:
    """The next bytes, and whether a damaged or cut-off gzip ended them early: what was unpacked before that is kept."""
    pieces: list[bytes] = []
    missing = count
    while missing:
        try:
            piece = cast(io.BufferedIOBase, file).read1(missing)
        except (EOFError, OSError, zlib.error):
            return b"".join(pieces), True
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), False


class _Unpacked(gzip.GzipFile):
    """A gzip that gives up where it unfolds into far more than a log does: a few kilobytes can hold gigabytes of the
    same letter."""

    def __init__(self, source: Source) -> None:
        self._packed = open_file(source.path)
        super().__init__(fileobj=self._packed, mode="rb")
        self._source = source
        self._left = UNPACKED_BYTES + UNPACKED_RATIO * source.size

    def read1(self, size: int = -1) -> bytes:
        return self._counted(super().read1(size))

    def read(self, size: int | None = -1) -> bytes:
        return self._counted(super().read(self._left + 1 if size is None or size < 0 else size))

    def _counted(self, piece: bytes) -> bytes:
        self._left -= len(piece)
        if self._left < 0:
            self._source.stopped = f"unpacks to more than {UNPACKED_RATIO} times its size; what follows was not read"
            return b""
        return piece

    def close(self) -> None:
        super().close()
        self._packed.close()


class Source:
    """One file, opened as often as needed and never written to."""

    def __init__(self, path: Path, name: str | None = None, progress: Progress | None = None) -> None:
        self.path = path
        self.name = name if name is not None else str(path)
        self.progress = progress
        self.stopped = ""  # why the rest of it was not read

    @cached_property
    def size(self) -> int:
        return self.path.stat().st_size if may_read(self.path) else 0

    @cached_property
    def compressed(self) -> bool:
        with self._raw() as file:
            return file.read(2) == _GZIP

    def open(self) -> BinaryIO:
        """The bytes of the file, unpacked where it is gzipped."""
        if self.compressed:
            return cast(BinaryIO, _Unpacked(self))
        return self._raw()

    def _raw(self) -> BinaryIO:
        """What may not be read is read as if it were empty."""
        return open_file(self.path) if may_read(self.path) else io.BytesIO()

    @cached_property
    def head(self) -> bytes:
        with self.open() as file:
            return read_up_to(file, HEAD_BYTES)[0]

    @cached_property
    def encoding(self) -> str:
        head = self.head
        if not any(head[:MIN_HOLE]):
            head = head.lstrip(b"\x00")  # a log cut back while a program goes on writing far behind begins with a hole
        if head.startswith(codecs.BOM_UTF8):
            return "utf-8-sig"
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        if len(head) > 8 and head[1:64:2].count(0) > 0.9 * len(head[1:64:2]):
            return "utf-16-le"
        if len(head) > 8 and head[0:64:2].count(0) > 0.9 * len(head[0:64:2]):
            return "utf-16-be"
        return "utf-8"

    @cached_property
    def is_text(self) -> bool:
        """Whether the head reads as text: hardly a NUL byte once decoded and few control characters."""
        text = self.text_head.strip("\x00")  # a power loss leaves zeros at the end
        if not text:
            return False
        if text.count("\x00") > 0.01 * len(text):  # a damaged log may have a few
            return False
        odd = len(re.findall(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\ufffd]", text))
        return odd < 0.05 * len(text) + 1

    @cached_property
    def text_head(self) -> str:
        return self.head.decode(self.encoding, errors="replace")

    def last_lines(self, count: int, width: int) -> tuple[str, ...]:
        """The last lines with anything in them, each cut to a width."""
        with self.open() as file:
            if not self.compressed:
                file.seek(max(0, self.size - TAIL_BYTES))
            end = b""
            while chunk := file.read(1 << 20):
                end = (end + chunk)[-TAIL_BYTES:]
        lines = [line.strip() for line in end.decode(self.encoding, errors="replace").splitlines()]
        return tuple(line if len(line) <= width else f"{line[:width]}…" for line in lines if line)[-count:]

    def chunks(self) -> Iterator[bytes]:
        """The file in pieces of about a megabyte; a damaged gzip ends where the damage is."""
        done = 0
        with self.open() as file:
            while chunk := read_up_to(file, CHUNK_BYTES)[0]:
                done += len(chunk)
                if self.progress:
                    self.progress(min(done, self.size), self.size)
                yield chunk

    def lines(self) -> Iterator[str]:
        """Decoded lines without their ends. Only a newline ends a line here: carriage returns stay, they mean progress
        bars. A line is cut at MAX_LINE characters."""
        decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
        rest = ""
        skipping = False
        for chunk in self.chunks():
            text = decoder.decode(chunk)
            pieces = text.split("\n")
            pieces[0] = rest + pieces[0]
            rest = pieces.pop()
            for piece in pieces:
                if skipping:
                    skipping = False
                    continue
                yield piece[:MAX_LINE]
            if len(rest) > MAX_LINE:
                if not skipping:
                    yield rest[:MAX_LINE]
                rest, skipping = "", True
        rest += decoder.decode(b"", final=True)
        if rest and not skipping:
            yield rest[:MAX_LINE]

    def nearby(self, *names: str, up: int = 1) -> Path | None:
        """The first of these files next to this one, or up to `up` folders above it."""
        folder = self.path.parent
        for _ in range(up + 1):
            for name in names:
                candidate = folder / name
                if candidate.is_file() and may_read(candidate):
                    return candidate
            folder = folder.parent
        return None


class MemorySource(Source):
    """Text taken out of another file (the output of a notebook's cell), read as if it were a file of its own."""

    def __init__(self, data: bytes, path: Path, name: str) -> None:
        super().__init__(path, name)
        self._data = data

    @cached_property
    def size(self) -> int:
        return len(self._data)

    @cached_property
    def compressed(self) -> bool:
        return False

    def open(self) -> BinaryIO:
        return io.BytesIO(self._data)
