"""Which files the readers may open. A log leads to others: settings beside it, parts of a resumed run, files of other
ranks, and any of them may be a link to somewhere else. Whoever reads for an agent limits all of that in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

Allowed = Callable[[Path], bool]
_ALLOWED: ContextVar[Allowed | None] = ContextVar("allowed", default=None)


@contextmanager
def limited_to(allowed: Allowed | None) -> Iterator[None]:
    """Inside, files that are not `allowed` are as good as not there; without a limit nothing changes."""
    if allowed is None:
        yield
        return
    token = _ALLOWED.set(allowed)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def may_read(path: Path) -> bool:
    """Whether nothing forbids to open this file."""
    allowed = _ALLOWED.get()
    return allowed is None or allowed(path)


def open_file(path: Path) -> BinaryIO:
    """The file, to read its bytes. Raises OSError where it cannot or may not be opened."""
    if not may_read(path):
        raise PermissionError(f"{path} lies outside the allowed directories")
    return path.open("rb")
