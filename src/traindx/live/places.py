"""Where in the user's code something happens."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from types import CodeType, FrameType

import torch

_users_code: dict[CodeType, bool] = {}  # whether a function is the user's, by its code
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))


def user_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor torch's."""
    return outer(sys._getframe(0))


def outer(frame: FrameType) -> FrameType | None:
    """The next frame of that kind that waits for this one."""
    waiting = frame.f_back
    while waiting is not None and not _is_users(waiting.f_code):
        waiting = waiting.f_back
    return waiting


def _is_users(code: CodeType) -> bool:
    users = _users_code.get(code)
    if users is None:
        users = _users_code[code] = not code.co_filename.startswith((_OWN, _TORCH, "<"))
    return users


def user_line() -> str:
    """file:line of that frame."""
    frame = user_frame()
    return place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else ""


@lru_cache(maxsize=1024)
def place(path: str, line: int) -> str:
    return f"{os.path.relpath(path) if path.startswith(os.getcwd()) else path}:{line}"
