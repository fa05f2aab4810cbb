"""A source file as text, and back to bytes as it was: its encoding, its byte order mark and its line endings."""

from __future__ import annotations

import codecs
import io
import tokenize
from pathlib import Path


def read(path: Path) -> str:
    """The text of a file with its line endings as they are. Raises UnicodeError or SyntaxError where it declares an
    encoding that it does not have."""
    data = path.read_bytes()
    return data.decode(encoding_of(data))


def encoded_like(before: bytes, text: str) -> bytes:
    """The bytes of a new text of a file that held these before."""
    return text.encode(encoding_of(before))


def encoding_of(data: bytes) -> str:
    """As Python itself finds it: a byte order mark, a comment in the first two lines, else UTF-8."""
    found, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else found


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one: a form feed or a line separator inside is content."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
