"""Starts and ends the recording of one process."""

from __future__ import annotations

import atexit
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from traindx.live.hub import Hub
from traindx.live.observers import observers
from traindx.live.store import SCHEMA, Store
from traindx.version import __version__

_current: Hub | None = None


def start(folder: Path, budget: float = 0.01, steps: int | None = None) -> Hub:
    """Begin recording a whole process; the recording ends with it."""
    global _current
    if _current is not None:
        return _current
    hub = open_hub(folder, budget, steps)
    hub.attach()
    _current = hub
    atexit.register(stop)
    _watch_exceptions(hub)
    return hub


def open_hub(folder: Path, budget: float, steps: int | None) -> Hub:
    """A hub with all observers that records into this directory; the file itself is made when the training begins."""
    rank = int(os.environ.get("RANK", "0") or 0)

    def open_store() -> Store:
        store = Store(folder, rank)
        store.line(
            "meta", schema=SCHEMA, traindx=__version__, torch=torch.__version__, argv=sys.argv, started=time.time(),
            rank=rank, world=int(os.environ.get("WORLD_SIZE", "1") or 1), pid=os.getpid(),
        )  # fmt: skip
        return store

    return Hub(open_store, list(observers().values()), budget, steps)


def stop() -> None:
    """End the recording and leave the process as it was found."""
    global _current
    if _current is not None:
        hub, _current = _current, None
        hub.detach()


def _watch_exceptions(hub: Hub) -> None:
    """Note the exception that ends the script; it is shown and handled as ever."""
    original = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        hub.cut_short = True
        if hub.step:
            name = "killed" if issubclass(kind, KeyboardInterrupt) else "traceback"
            text = f"{kind.__name__}: {error}".splitlines()[0][:300]
            hub.event("oom" if "out of memory" in text.lower() else name, text)
        original(kind, error, trace)

    sys.excepthook = excepthook
    hub.patches.add(lambda: setattr(sys, "excepthook", original) if sys.excepthook is excepthook else None)
