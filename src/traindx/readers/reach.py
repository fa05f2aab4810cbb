"""Which files the readers may open. A log leads to others: settings beside it, parts of a resumed run, files of other
ranks, and any of them may be a link to somewhere else. Whoever reads for an agent limits all of that in one place."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from errno import EINVAL, EISDIR
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
    """The file, to read its bytes. Raises OSError where it cannot or may not be opened, and at once where it is no
    file: a named pipe, a socket or a device may never end."""
    if not may_read(path):
        raise PermissionError(f"{path} lies outside the allowed directories")
    # not blocking: to open a named pipe waits for whoever writes to it
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(EISDIR if stat.S_ISDIR(mode) else EINVAL, f"it is {kind_of(mode)}, not a file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def kind_of(mode: int) -> str:
    """What an entry of the file system is."""
    kinds = (
        (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"), (stat.S_ISDIR, "a directory"),
    )  # fmt: skip
    return next((name for is_kind, name in kinds if is_kind(mode)), "a special entry")
