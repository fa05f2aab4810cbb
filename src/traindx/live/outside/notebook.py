"""A live view in notebooks: the diagnosis so far below the cell, kept up to date while it trains. Plain display
updates, no widgets.

It is a guest in the training's process: one thread that sleeps, at most 2 % of a core, and silence when anything goes
wrong."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError

EVERY_SECONDS = 2.0
SHARE = 0.02  # of one core that looking may take
WAITING = "Recording: nothing to diagnose yet."


def display_handle() -> Any:
    """What shows and updates a piece of HTML in the notebook this runs in; None outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    showing = import_module("IPython.display")
    return showing.display(showing.HTML(_frame(WAITING)), display_id=True)


class NotebookView:
    """Follows one recording until it is closed."""

    def __init__(self, folder: Path, handle: Any) -> None:
        self.folder, self._handle = folder, handle
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="traindx-notebook", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Show how it ended."""
        self._ended.set()
        self._thread.join(timeout=EVERY_SECONDS * 5)
        self._show()

    def _follow(self) -> None:
        rest = EVERY_SECONDS
        while not self._ended.wait(rest):
            began = time.thread_time()
            self._show()
            rest = max(EVERY_SECONDS, (time.thread_time() - began) / SHARE)

    def _show(self) -> None:
        # a view must never disturb the training, whatever is wrong with it
        with contextlib.suppress(Exception):
            self._handle.update(import_module("IPython.display").HTML(self._html()))

    def _html(self) -> str:
        from traindx.live.outside.page import diagnosis_of
        from traindx.reporters.html.fragment import of_diagnosis

        try:
            return of_diagnosis(diagnosis_of(self.folder))
        except TraindxError:
            return _frame(WAITING)


def _frame(text: str) -> str:
    from traindx.reporters.html.fragment import fragment
    from traindx.reporters.html.markup import tag

    return fragment("traindx", [tag("div", text)])
