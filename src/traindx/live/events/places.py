"""Where in the user's code something happens."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

import torch

from traindx import version

_users_code: dict[CodeType, bool] = {}  # whether a function is the user's, by its code
_own_code: dict[CodeType, bool] = {}  # whether it is none of a library either
_LIBRARIES = tuple({os.path.normpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OWN = os.path.dirname(os.path.abspath(version.__file__)) + os.sep  # of the package
_HELD_BY_FRAME = 3  # references to such a dictionary: of the frame, our name for it and the question
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))


def user_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor torch's."""
    return outer(sys._getframe(0))


def caller() -> FrameType:
    """The innermost frame that is not ours: who called a function that a patch stands for."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_OWN) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def outer(frame: FrameType) -> FrameType | None:
    """The next frame of that kind that waits for this one."""
    waiting = frame.f_back
    while waiting is not None and not _is_users(waiting.f_code):
        waiting = waiting.f_back
    return waiting


def variables(frame: FrameType) -> dict[str, Any]:
    """The variables of a function that is running. Before Python 3.13 asking for them leaves a dictionary in the frame
    that would keep what the user lets go of, a whole graph for one, until the function ends: it is emptied, unless the
    script has asked for it itself, with `locals()`, and holds it."""
    names = frame.f_locals
    found = dict(names)
    made = sys.version_info < (3, 13) and frame.f_code.co_flags & CO_OPTIMIZED
    if made and sys.getrefcount(names) <= _HELD_BY_FRAME and sys.gettrace() is None:
        names.clear()
    return found


def own_frame() -> FrameType | None:
    """The innermost frame of the user's own files: no library's, be it torch's or another one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_own(frame.f_code):
        frame = frame.f_back
    return frame


def _is_own(code: CodeType) -> bool:
    own = _own_code.get(code)
    if own is None:
        path = code.co_filename
        library = path.startswith(_LIBRARIES) or any(word in path for word in _INSTALLED)
        own = _own_code[code] = _is_users(code) and not library
    return own


def _is_users(code: CodeType) -> bool:
    users = _users_code.get(code)
    if users is None:
        users = _users_code[code] = not code.co_filename.startswith((_OWN, _TORCH, "<"))
    return users


def user_line() -> str:
    """file:line of that frame."""
    frame = user_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


def own_line() -> str:
    """file:line of the innermost frame of the user's own files; empty where only libraries are at work."""
    frame = own_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


@lru_cache(maxsize=1024)
def place(path: str, line: int) -> str:
    return f"{from_here(path)}:{line}"


def absolute(path: str) -> str:
    """The path from the root, where that can be known: the working directory may be gone."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def from_here(path: str) -> str:
    """The path as seen from the working directory, which may be gone."""
    try:
        here = os.getcwd()
    except OSError:
        return path
    return os.path.relpath(path, here) if path.startswith(here + os.sep) else path
