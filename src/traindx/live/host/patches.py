"""Patching somebody else's functions so that they cannot tell, and undoing all of it. A fault of ours in a patch or a
hook never reaches the one who called: he gets what the function itself gave or raised, and what failed is not asked
again."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

Fault = Callable[[Exception], None]  # is notified of what failed
# their functions ask `__torch_function__`, and name to it what stands in their place
_DISPATCHING = (torch.nn.functional, torch.Tensor, torch.autograd)

# `warnings.warn` counts stack levels without the frames of the import system, which it knows by these two words in
# their file name. A wrapper that has them too does not shift the line that a warning of the wrapped function is
# reported for.
_UNCOUNTED = " (counted like importlib._bootstrap)"


def hide(wrapper: Callable[..., Any]) -> None:
    """Let warnings of what this function calls be reported for the line that they would be reported for without it."""
    code = getattr(wrapper, "__code__", None)
    if code is not None and not code.co_filename.endswith(_UNCOUNTED):
        wrapper.__code__ = code.replace(co_filename=code.co_filename + _UNCOUNTED)


def silently(error: Exception) -> None:
    """For patches that nobody would miss."""


def shielded(call: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    """A hook of ours whose own faults end in `fault`."""
    failed: list[bool] = []

    def hook(*args: Any, **kwargs: Any) -> Any:
        if failed:
            return None
        try:
            return call(*args, **kwargs)
        except Exception as error:
            failed.append(True)
            fault(error)
        return None

    return hook


class ShieldedIterator:
    """Somebody's iterator, with something of ours before and after each of its items; what we ask first gives what is
    handed on afterwards."""

    def __init__(
        self, iterator: Any, before: Callable[[], Any], after: Callable[[Any, Any], None], fault: Fault
    ) -> None:
        self._iterator = iterator
        self._before, self._after = shielded(before, fault), shielded(after, fault)

    def __iter__(self) -> ShieldedIterator:
        return self

    def __next__(self) -> Any:
        began = self._before()
        item = next(self._iterator)
        self._after(item, began)
        return item

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class _Call:
    """What became of the library's function in one call of its patch."""

    __slots__ = ("began", "done", "error", "result")

    def __init__(self) -> None:
        self.began = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    @property
    def running(self) -> bool:
        """The library's function has begun, and not ended yet."""
        return self.began and not self.done and self.error is None


def guarded(
    original: Callable[..., Any],
    around: Callable[[Callable[..., Any]], Callable[..., Any]],
    fault: Fault,
    *,
    dispatches: bool = False,
) -> Callable[..., Any]:
    """What stands in the function's place: `around(original)`, whose own faults are not the caller's. `dispatches`: the
    library's function hands itself, by its name, to modes and classes of tensors, which call it in their turn."""
    here = threading.local()  # the call that this thread is in
    noted = _noted(original, here)
    functools.update_wrapper(noted, original)
    inner = around(noted)
    patched = _patched(original, inner, here, fault, dispatches)
    for function in (noted, inner, patched):
        hide(function)
    functools.update_wrapper(patched, original)
    return patched


def _noted(original: Callable[..., Any], here: threading.local) -> Callable[..., Any]:
    """The library's function; what became of it in the present call is noted."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        call: _Call | None = None if torch.compiler.is_compiling() else getattr(here, "call", None)
        if call is None or call.began:
            return original(*args, **kwargs)
        call.began = True
        try:
            call.result = original(*args, **kwargs)
        except BaseException as error:
            call.error = error
            raise
        call.done = True
        return call.result

    return noted


def _patched(
    original: Callable[..., Any], inner: Callable[..., Any], here: threading.local, fault: Fault, dispatches: bool
) -> Callable[..., Any]:
    failed: list[bool] = []

    def patched(*args: Any, **kwargs: Any) -> Any:
        if failed:
            return original(*args, **kwargs)
        if torch.compiler.is_compiling():
            return inner(*args, **kwargs)
        outer: _Call | None = getattr(here, "call", None)
        if dispatches and outer is not None and outer.running:
            return original(*args, **kwargs)  # the same call, which comes by a second time
        call = here.call = _Call()
        try:
            return inner(*args, **kwargs)
        except Exception as error:
            if error is call.error:
                raise
            failed.append(True)
            fault(error)
            if call.done:
                return call.result
            if call.error is not None:
                raise call.error from None
        finally:
            call.error = call.result = None  # nothing is kept alive by what an error refers to
            here.call = outer
        return original(*args, **kwargs)

    return patched


class Patches:
    """Every replaced attribute, in order, so that all of them can be put back."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
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
        replaced = guarded(original, around, self._fault, dispatches=any(owner is one for one in _DISPATCHING))
        inherited = not isinstance(owner, type | ModuleType) and name not in getattr(owner, "__dict__", {})
        setattr(owner, name, replaced)
        if isinstance(owner, ModuleType):
            first, last = self._functions.get((owner, name), (original, original))
            self._functions[owner, name] = (first if last is original else original, replaced)

        def undo() -> None:
            if getattr(owner, name, None) is replaced or (
                isinstance(owner, type) and owner.__dict__.get(name) is replaced
            ):
                if inherited:
                    delattr(owner, name)
                else:
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
