"""Starts the recorder in a process as soon as torch has been imported there, and only then: processes that never use
torch pay for two entries in sys.meta_path and nothing else. Hugging Face's Trainer has no entry points, so that it is
met the same way."""

from __future__ import annotations

import importlib
import importlib.abc
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from traindx.live.host.saying import say
from traindx.live.host.startup_report import note, note_exceptions

RECORD = "TRAINDX_RECORD"  # directory of the recording
TRACE = "TRAINDX_TRACE"  # set where the first updates are traced line by line
OPTIONS = "TRAINDX_OPTIONS"  # JSON: budget, steps; 'start' names who starts, as module:function
RECORDER = "traindx.live.host.recorder:start"


class _AfterImport(importlib.abc.Loader):
    """The module's own loader, followed by a call. Whoever only looks at the loader sees the module's own."""

    def __init__(self, loader: importlib.abc.Loader, call: Callable[[], None]) -> None:
        self.loader = loader
        self.call = call

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.call()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits until a module has been imported. Being asked where it lies is no import: libraries ask so before they
    decide whether to import it (`importlib.util.find_spec`), and an import that failed may be tried again. So it stays
    until one has succeeded."""

    def __init__(self, awaited: str, call: Callable[[], None]) -> None:
        self.awaited = awaited
        self.call = call
        self.asking = threading.local()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.awaited or getattr(self.asking, "now", False):
            return None
        self.asking.now = True  # other finders that wrap the search ask everybody again
        try:
            spec = self._found_by_others(name, path, target)
        finally:
            self.asking.now = False
        if spec is not None and spec.loader is not None:
            spec.loader = _AfterImport(spec.loader, self._imported)
        return spec

    def _found_by_others(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            look = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = look(name, path, target) if look is not None else None
            if spec is not None:
                return spec
        return None

    def stop(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _imported(self) -> None:
        if self in sys.meta_path:
            self.stop()
            self.call()


def after_import(name: str, call: Callable[[], None]) -> Callable[[], None]:
    """Call once the module has been imported: now, later or never. Gives what ends the waiting."""
    if name in sys.modules:
        call()
        return lambda: None
    finder = _Finder(name, call)
    sys.meta_path.insert(0, finder)
    return finder.stop


def await_torch() -> None:
    """Install the import hook in a process that may become the training."""
    note("python")
    note_exceptions()
    # a child of multiprocessing that was spawned: it knows of its parent only later
    call = _start_when_training if "--multiprocessing-fork" in sys.argv else _start
    after_import("torch", call)
    sys.meta_path.insert(0, _Finder("transformers.trainer", _extend_trainer))


def _start_when_training() -> None:
    try:
        from traindx.live.host.children import start_when_training

        start_when_training(_start)
    except Exception as error:
        say(f"not recording ({type(error).__name__}: {error})")


def _start() -> None:
    note("torch")
    try:
        options = json.loads(os.environ.get(OPTIONS, "{}"))
        module, _, name = options.pop("start", RECORDER).partition(":")
        getattr(importlib.import_module(module), name)(Path(os.environ[RECORD]), **options)
        _watch_forks()
    except Exception as error:
        say(f"not recording ({type(error).__name__}: {error})")


@cache
def _watch_forks() -> None:
    """The recorder does not follow a fork; a child that trains gets its own."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_start_when_training)


def _extend_trainer() -> None:
    """The Trainer knows its metrics by name and its plan; the recorder works without them too."""
    try:
        from traindx.live.integrations.asked import extend_trainer

        extend_trainer()
    except Exception as error:
        say(f"the Trainer's own metrics are not recorded ({type(error).__name__}: {error})")
