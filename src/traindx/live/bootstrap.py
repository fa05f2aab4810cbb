"""Starts the recorder in a process as soon as torch has been imported there, and only then: processes that never use
torch pay for one entry in sys.meta_path and nothing else."""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

RECORD = "TRAINDX_RECORD"  # directory of the recording
OPTIONS = "TRAINDX_OPTIONS"  # JSON: budget, steps


class _AfterImport(importlib.abc.Loader):
    """The module's own loader, followed by a call."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        _start()


class _TorchFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _AfterImport(spec.loader)
        return spec


def await_torch() -> None:
    """Install the import hook in a process that may become the training."""
    if _is_helper_process():
        return
    if "torch" in sys.modules:
        _start()
    else:
        sys.meta_path.insert(0, _TorchFinder())


def _is_helper_process() -> bool:
    """Data-loader workers and other children of multiprocessing are not the training."""
    return any("multiprocessing" in argument for argument in sys.argv[:1]) or "--multiprocessing-fork" in sys.argv


def _start() -> None:
    import multiprocessing

    if multiprocessing.parent_process() is not None:
        return
    try:
        from traindx.live.recorder import start

        options = json.loads(os.environ.get(OPTIONS, "{}"))
        start(Path(os.environ[RECORD]), **options)
    except Exception as error:
        print(f"traindx: not recording ({type(error).__name__}: {error})", file=sys.stderr)
