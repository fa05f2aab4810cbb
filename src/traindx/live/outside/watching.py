"""`with traindx.watch(model, optimizer) as dx:` for people who prefer one line in their own code."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import torch

from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.live.events.hub import Hub
from traindx.live.host.ranks import place
from traindx.live.host.recorder import join, note_exception, stop
from traindx.live.outside.notebook import NotebookView, display_handle
from traindx.live.outside.page import diagnosis_of, show
from traindx.live.recording.store import fresh_folder, shared_folder, unused_folder
from traindx.meaning import meaning_of
from traindx.run import flatten

# kinds of numbers that are better known from the inside
MEASURED = ("lr", "grad_norm", "step_time", "data_time", "throughput", "time", "step", "stamp")


class Watch:
    """Records what torch does inside the `with` block, as `traindx run` does for a whole script. Where a recorder is at
    work already, in a script under `traindx run` for example, it adds to that recording and leaves its end to it."""

    def __init__(
        self, *watched: Any, to: str | Path | None = None, budget: float = 0.01, name: str = "watch", show: bool = False
    ) -> None:  # fmt: skip
        """`watched`: the model, optionally others and the optimiser; naming them only helps to name layers early.
        `show`: in a notebook, the diagnosis so far appears below the cell and is kept up to date."""
        rank, world = place()
        if world > 1:
            self.folder = shared_folder(Path(to) if to is not None else Path.cwd() / f"{name}.traindx", rank, world)
        else:
            self.folder = fresh_folder(name, Path.cwd()) if to is None else unused_folder(Path(to))
        self.budget = budget
        self.mine = False  # the recording is this watch's own to end
        self._models = [one for one in watched if isinstance(one, torch.nn.Module)]
        self._hub: Hub | None = None
        self._show = show
        self._view: NotebookView | None = None

    def __enter__(self) -> Watch:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(error)

    def start(self) -> Hub:
        """Begin to record; `stop` ends it."""
        self._hub, self.folder, self.mine = join(self.folder, self.budget)
        if self.mine:
            self._hub.criteria.see_held()
            atexit.register(self.stop)  # a script may end without it, and has ended all the same
        for model in self._models:
            self._hub.register(model)
        handle = display_handle() if self._show else None
        if handle is not None:
            self._view = NotebookView(self.folder, handle)
        return self._hub

    def stop(self, error: BaseException | None = None) -> None:
        """The end of the training, by itself or by an exception. A second call changes nothing."""
        atexit.unregister(self.stop)
        if self._hub is not None and self.mine and self._hub.working:
            if error is not None:
                note_exception(self._hub, error)
            stop()
        view, self._view = self._view, None
        if view is not None:
            view.close()

    def log(self, metrics: Mapping[str, Any]) -> None:
        """Numbers that only the training knows by name, for the current step. What the recorder measures itself at
        every step (training loss, learning rate, gradient norm) is left out, and so is what is no number."""
        if self._hub is None or not self._hub.working:
            return
        for name, value in metrics.items():
            number = _number(value)
            if number is not None and not _measured(name):
                self._hub.record(name, number)

    def config(self, settings: Mapping[str, Any]) -> None:
        """Settings of the training, nested or not."""
        if self._hub is not None and self._hub.working and settings:
            self._hub.config(settings=flatten(settings))

    def diagnose(self) -> Diagnosis:
        """The diagnosis of what has been recorded so far."""
        if self._hub is None:
            raise TraindxError("Nothing was recorded: the watch has not begun.", "Train inside the with block.")
        if self._hub.working:
            self._hub.write()
        return diagnosis_of(self.folder)

    def report(self) -> Diagnosis:
        """Print the page and give the diagnosis."""
        page = self.diagnose()
        show(page, sys.stdout)
        return page


def watch(*watched: Any, to: str | Path | None = None, budget: float = 0.01, show: bool = True) -> Watch:
    """Record a training from the inside: `with traindx.watch(model, optimizer) as dx: …; dx.report()`. In a notebook
    the diagnosis so far appears below the cell and is kept up to date, unless `show` is false."""
    return Watch(*watched, to=to, budget=budget, show=show)


def _number(value: Any) -> torch.Tensor | float | None:
    """A number, or a tensor of one element, which stays where it is."""
    if isinstance(value, torch.Tensor):
        return value.detach() if value.numel() == 1 and not value.is_complex() else None
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _measured(name: str) -> bool:
    meaning = meaning_of(name)
    if meaning.kind == "loss":
        return meaning.split in ("", "train") and not meaning.part
    return meaning.kind in MEASURED and not (meaning.kind == "grad_norm" and meaning.where)
