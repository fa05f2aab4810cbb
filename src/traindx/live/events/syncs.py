"""Which lines make the host wait for the GPU, reported by torch's own sync debug mode for as long as one asks.

In that mode torch warns of every operation that waits. Those warnings are taken out of the way before anybody sees
them, and they must never become an exception in the user's code: where warnings are errors the mode stays off, and it
is switched off before a filter that would make them errors is added."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import torch

from traindx.live.host.patches import Patches, silently

SILENT, WARNING = 0, 1  # modes of torch.cuda.set_sync_debug_mode
TEXT = re.compile("called a synchronizing CUDA operation")  # what torch warns with
NOTICE = "Synchronization debug mode is a prototype feature"  # said once, when the mode is set
_ALWAYS = ("always", TEXT, UserWarning, None, 0)  # a filter, as `warnings` keeps them


class Syncs:
    """`begin` and `end` bound the stretch in which `tell` is called, on the spot, for every operation that waits. A
    user who sets the mode himself has it to himself from then on."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell
        self._patches: Patches | None = None  # while the mode is on
        self.theirs = False

    def attach(self, patch: Callable[[Any, str, Callable[..., Any]], None]) -> None:
        for name in ("set_sync_debug_mode", "get_sync_debug_mode"):
            patch(torch.cuda, name, self._hand_over)

    @property
    def on(self) -> bool:
        return self._patches is not None

    def begin(self) -> None:
        """CUDA is left alone until the training has begun to use it."""
        if self.on or self.theirs or not torch.cuda.is_initialized() or not _harmless():  # type: ignore[no-untyped-call]
            return
        if _mode() != SILENT:
            self.theirs = True
            return
        self._patches = patches = Patches(silently)
        patches.wrap(warnings, "_showwarnmsg", self._around_show)
        patches.wrap(warnings, "_add_filter", self._around_filter)
        # not by `filterwarnings`: that would make Python forget which warnings it has shown already
        filters = warnings.filters
        filters.insert(0, _ALWAYS)  # type: ignore[attr-defined]
        patches.add(lambda: _take_out(filters))
        _set_mode(WARNING)

    def end(self) -> None:
        if self._patches is not None:
            patches, self._patches = self._patches, None
            _set_mode(SILENT)
            patches.undo()

    def _hand_over(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def of_the_user(*args: Any, **kwargs: Any) -> Any:
            self.end()
            self.theirs = True
            return original(*args, **kwargs)

        return of_the_user

    def _around_show(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _showwarnmsg(message: Any) -> None:
            text = str(message.message)
            if TEXT.match(text):
                self._tell()
            elif not text.startswith(NOTICE):
                original(message)

        return _showwarnmsg

    def _around_filter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _add_filter(*item: Any, **kwargs: Any) -> Any:
            if item and item[0] == "error":
                self.end()
                return getattr(warnings, "_add_filter")(*item, **kwargs)  # noqa: B009
            return original(*item, **kwargs)

        return _add_filter


def _mode() -> int:
    return int(torch._C._cuda_get_sync_debug_mode())


def _set_mode(mode: int) -> None:
    torch._C._cuda_set_sync_debug_mode(mode)


def _harmless() -> bool:
    """No filter makes an error of a warning, and `warnings` has what is to be replaced for a while."""
    known = hasattr(warnings, "_showwarnmsg") and hasattr(warnings, "_add_filter")
    return known and not any(
        entry[0] == "error" and issubclass(UserWarning, entry[2]) for entry in list(warnings.filters)
    )


def _take_out(filters: Any) -> None:
    """The filter, from where it was put and from where `catch_warnings` may have copied it to."""
    held: Any
    for held in (filters, warnings.filters):
        while _ALWAYS in held:
            held.remove(_ALWAYS)
