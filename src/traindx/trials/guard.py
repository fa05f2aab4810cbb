"""Keeps a trial from writing where the user's own files are: what it may not write ends it with a sentence that says
why. The sandbox (`traindx.trials.sandbox`) holds what gets around Python; this says which file it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGING = frozenset(
    {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.truncate", "os.link", "os.symlink", "os.chmod",
     "os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.chflags", "shutil.rmtree", "shutil.move",
     "shutil.chown", "shutil.copymode", "shutil.copystat",
     "sqlite3.connect"}
)  # fmt: skip


class Refused(PermissionError):
    """A trial tried to change one of the user's files."""


def protect(roots: Sequence[str], allowed: Sequence[str]) -> None:
    """From now on nothing below `roots` may be written, but for what lies below `allowed`."""
    closed = [os.path.realpath(root) + os.sep for root in roots]
    free = [os.path.realpath(place) + os.sep for place in allowed]

    def check(path: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        place = os.path.realpath(os.fsdecode(path))
        inside = any(f"{place}{os.sep}".startswith(root) for root in closed)
        if inside and not any(f"{place}{os.sep}".startswith(root) for root in free):
            raise Refused(f"the script writes to {place}, outside the trial's own copy")

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITING):
                check(path)
        elif event in _CHANGING:
            for path in arguments[:2]:
                check(path)

    sys.addaudithook(audit)
    torch.save = _checked(torch.save, check)


def _checked(save: Callable[..., Any], check: Callable[[Any], None]) -> Callable[..., Any]:
    """torch writes its files without Python's `open`."""

    def checked(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        check(f)
        return save(obj, f, *args, **kwargs)

    return checked
