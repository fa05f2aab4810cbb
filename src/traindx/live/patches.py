"""Patching somebody else's functions so that they cannot tell, and undoing all of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# `warnings.warn` counts stack levels without the frames of the import system, which it knows by these two words in their file
# name. A wrapper that has them too does not shift the line that a warning of the wrapped function is reported for.
_UNCOUNTED = " (counted like importlib._bootstrap)"


def _hide(wrapper: Callable[..., Any]) -> None:
    code = getattr(wrapper, "__code__", None)
    if code is not None and not code.co_filename.endswith(_UNCOUNTED):
        wrapper.__code__ = code.replace(co_filename=code.co_filename + _UNCOUNTED)


class Patches:
    """Every replaced attribute, in order, so that all of them can be put back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def wrap(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace `owner.name` by `around(original)`; the signature stays visible. A missing attribute is no error: torch
        versions differ."""
        original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
        if original is None:
            return
        replaced = around(original)
        _hide(replaced)
        functools.update_wrapper(replaced, original)
        setattr(owner, name, replaced)

        def undo() -> None:
            if getattr(owner, name, None) is replaced or (
                isinstance(owner, type) and owner.__dict__.get(name) is replaced
            ):
                setattr(owner, name, original)

        self._undo.append(undo)

    def add(self, undo: Callable[[], None]) -> None:
        """Something else to undo, such as the removal of a hook."""
        self._undo.append(undo)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()
