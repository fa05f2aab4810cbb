"""What a mechanism is, and what it is asked for."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The directories in which a process may write, and whether it may use the network. Plain data: it travels as
    JSON."""

    writable: tuple[str, ...]
    network: bool = False


@dataclass(frozen=True)
class Sandbox:
    """One mechanism. `enter` applies it to this process and all it starts, for good; it raises OSError where the system
    does not have it. `by_system` is false for what a program can get around."""

    id: str
    holds: str  # what it keeps an arm from, as the page says it
    by_system: bool
    enter: Callable[[Limits], None]


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """The result of a call to the system, or its error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
