"""TensorBoard: the page as text, in every writer that is open."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from traindx.live.pushing.base import Note, Tracker


class TensorBoard(Tracker):
    id = "tensorboard"
    awaits = "torch.utils.tensorboard.writer"
    begins = ("torch.utils.tensorboard.writer:SummaryWriter.__init__",)
    ends = ("torch.utils.tensorboard.writer:SummaryWriter.close",)

    def __init__(self) -> None:
        self.writers: weakref.WeakSet[Any] = weakref.WeakSet()

    def began(self, given: Sequence[Any]) -> None:
        self.writers.add(given[0])

    def open(self, given: Sequence[Any]) -> list[Any]:
        known = [given[0]] if given else list(self.writers)
        return [writer for writer in known if writer.all_writers is not None]  # None: closed

    def write(self, target: Any, note: Note) -> None:
        target.add_text("traindx/diagnosis", note.page)
        target.flush()


TRACKER = TensorBoard()
