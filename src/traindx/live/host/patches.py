"""Patching somebody else's functions so that they cannot tell, and undoing all of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

# `warnings.warn` counts stack levels without the frames of the import system, which it knows by these two words in
# their file name. A wrapper that has them too does not shift the line that a warning of the wrapped function is
# reported for.
_UNCOUNTED = " (counted like importlib._bootstrap)"


def hide(wrapper: Callable[..., Any]) -> None:
    """Let warnings of what this function calls be reported for the line that they would be reported for without it."""
    code = getattr(wrapper, "__code__", None)
    if code is not None and not code.co_filename.endswith(_UNCOUNTED):
        wrapper.__code__ = code.replace(co_filename=code.co_filename + _UNCOUNTED)


class Patches:
    """Every replaced attribute, in order, so that all of them can be put back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._functions: dict[
            tuple[ModuleType, str], tuple[Any, Any]
        ] = {}  # of modules: the library's, the last put there

    def wrap(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace `owner.name` by `around(original)`; the signature stays visible. A missing attribute is no error:
        torch versions differ."""
        original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
        if original is None:
            return
        replaced = around(original)
        hide(replaced)
        functools.update_wrapper(replaced, original)
        setattr(owner, name, replaced)
        if isinstance(owner, ModuleType):
            first, last = self._functions.get((owner, name), (original, original))
            self._functions[owner, name] = (first if last is original else original, replaced)

        def undo() -> None:
            if getattr(owner, name, None) is replaced or (
                isinstance(owner, type) and owner.__dict__.get(name) is replaced
            ):
                setattr(owner, name, original)

        self._undo.append(undo)

    def add(self, undo: Callable[[], None]) -> None:
        """Something else to undo, such as the removal of a hook."""
        self._undo.append(undo)

    def around_reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """For what reads the source of functions and compiles it, such as TorchScript: it is shown those of the
        library."""

        def reading(*args: Any, **kwargs: Any) -> Any:
            lifted = [(place, both) for place, both in self._functions.items() if getattr(*place, None) is both[1]]
            for place, (first, _) in lifted:
                setattr(*place, first)
            try:
                return original(*args, **kwargs)
            finally:
                for place, (_, last) in lifted:
                    setattr(*place, last)

        return reading

    def undo(self) -> None:
        self._functions.clear()
        while self._undo:
            self._undo.pop()()
