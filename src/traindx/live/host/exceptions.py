"""The exception that ends a training, as an event of its recording; it is shown and handled as ever."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

MAX_CHARACTERS = 300  # characters of its message


def described(error: BaseException) -> tuple[str, str]:
    """The kind of event and one line of text."""
    text = f"{type(error).__name__}: {error}".splitlines()[0][:MAX_CHARACTERS]
    if isinstance(error, KeyboardInterrupt):
        return "killed", text
    return "oom" if "out of memory" in text.lower() else "traceback", text


def before_uncaught(tell: Callable[[BaseException], None]) -> Callable[[], None]:
    """Call `tell` with an exception that nobody catches, before it is shown. What comes back undoes it."""
    original = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        tell(error)
        original(kind, error, trace)

    sys.excepthook = excepthook

    def undo() -> None:
        if sys.excepthook is excepthook:
            sys.excepthook = original

    return undo
