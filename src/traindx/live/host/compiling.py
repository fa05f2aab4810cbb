"""Global hooks out of the sight of torch.compile.

What it compiles while they are there depends on them: compiled again once they are gone, which can take minutes, and
the user is warned of hooks that are not theirs. So they are away while it compiles, checks whether what it has still
fits, and runs that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as torch_module

if TYPE_CHECKING:
    from traindx.live.events.calls import Calls
    from traindx.live.events.hub import Hub

MODULE = "torch._dynamo.eval_frame"


class Compiling:
    def __init__(self, hub: Hub, calls: Calls) -> None:
        self._hub = hub
        self._calls = calls
        self._seen = False

    def attach(self) -> None:
        self._hub.patch(torch_module, "_has_any_global_hook", self._around_question)
        self._see()
        if not self._seen:
            self._hub.patch(torch, "compile", self._around_compile)

    def _see(self) -> None:
        """The compiler is loaded when it is first needed, which takes seconds: never for our sake."""
        loaded = sys.modules.get(MODULE)
        if loaded is not None and not self._seen and not self._hub.ended:
            self._seen = True
            self._hub.patch(loaded, "_maybe_set_eval_frame", self._around_switch)

    def _around_compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(*args: Any, **kwargs: Any) -> Any:
            compiled = original(*args, **kwargs)
            self._see()
            return compiled

        return compile

    def _around_switch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Torch switches its compiler on before a compiled part and off after it, by this function."""

        def _maybe_set_eval_frame(callback: Any) -> Any:
            if callable(callback):
                self._calls.step_aside()
                return original(callback)  # from here on every function that is called would be compiled
            before = original(callback)
            self._calls.come_back()
            return before

        return _maybe_set_eval_frame

    def _around_question(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def _has_any_global_hook() -> bool:
            self._calls.step_aside()
            try:
                return bool(original())  # which is the very table that ours come back into
            finally:
                self._calls.come_back()

        return _has_any_global_hook
