"""Ctrl-C and `kill` while trials run: they end what is waited for, never what is being read, judged or shown.

An exception at any line would leave a temporary folder half removed or a finished pair without its verdict."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)  # `kill`, `timeout` and batch systems get what Ctrl-C gives


class _Interruption:
    waiting = False  # something can be ended now
    asked = False  # a signal came while nothing could


_state = _Interruption()


@contextmanager
def heeding() -> Iterator[None]:
    """Until its end a first signal interrupts only inside `interruptible`, and a second one anywhere."""
    heard = [number for number in NUMBERS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _on_signal) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _state.asked = False


def _on_signal(number: int, frame: FrameType | None) -> None:
    if not (_state.waiting or _state.asked):
        _state.asked = True
        return
    _state.waiting = _state.asked = False
    raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """Raises KeyboardInterrupt at once where a signal came before."""
    _state.waiting = True
    try:
        if _state.asked:
            _state.asked = False
            raise KeyboardInterrupt
        yield
    finally:
        _state.waiting = False
