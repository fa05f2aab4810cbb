"""Starts and ends the recording of one process."""

from __future__ import annotations

import atexit
import os
import sys
import time
from functools import partial
from pathlib import Path

import torch

from traindx.live.events.hub import Hub
from traindx.live.host.children import at_end_of_child
from traindx.live.host.exceptions import before_uncaught, described
from traindx.live.host.ranks import let_threads_finish, place
from traindx.live.host.startup_report import note
from traindx.live.instruments import observers
from traindx.live.recording.store import STATE, Store
from traindx.measurements import SCHEMA
from traindx.readers.liveness import host_mark
from traindx.secrets import hidden_arguments
from traindx.version import __version__
from traindx.versions import digest_of, loaded

_current: Hub | None = None
_folder = Path()  # where it records


def start(
    folder: Path,
    budget: float = 0.01,
    steps: int | None = None,
    push: bool = False,
    checkpoint: int | None = None,
    private: bool = False,
) -> Hub:
    """Begin recording a whole process; the recording ends with it. `push` tells the script's own trackers how it went,
    `checkpoint` is the update after which the state of the training is kept, `private` keeps texts of the data out."""
    hub, _, new = join(folder, budget, steps)
    hub.private = hub.private or private
    if new:
        atexit.register(stop)
        at_end_of_child(_stop_after)
        watch_exceptions(hub)
        if push:
            from traindx.live.pushing.pusher import Pusher

            Pusher(hub, folder).attach()
        if checkpoint is not None and place()[0] == 0:
            from traindx.live.recording.states import Keeper

            hub.add(Keeper(hub, checkpoint, folder / STATE))
    return hub


def join(folder: Path, budget: float, steps: int | None = None) -> tuple[Hub, Path, bool]:
    """The recorder at work in this process, or a new one: there is never a second, which would count everything twice.
    With it the directory it records into, and whether it is new and so the caller's to `stop`."""
    global _current, _folder
    if _current is not None and _current.working:
        return _current, _folder, False
    _current, _folder = open_hub(folder, budget, steps), folder
    _current.attach()
    return _current, _folder, True


def open_hub(folder: Path, budget: float, steps: int | None) -> Hub:
    """A hub with all observers that records into this directory; the file itself is made when the training begins."""

    def open_store() -> Store:
        rank, world = place()
        if world > 1:
            atexit.register(let_threads_finish)
        store = Store(folder, rank)
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        if store.broken:
            note("wall")
        store.line(
            "meta", schema=SCHEMA, traindx=__version__, torch=torch.__version__,
            argv=hidden_arguments(sys.argv), script=digest_of(script), started=time.time(),
            rank=rank, world=world, pid=os.getpid(), host=host_mark(), versions=loaded(),
        )  # fmt: skip
        return store

    return Hub(open_store, list(observers().values()), budget, steps)


def stop() -> None:
    """End the recording and leave the process as it was found."""
    global _current
    if _current is not None:
        hub, _current = _current, None
        hub.detach()


def _stop_after(error: BaseException | None) -> None:
    if error is not None and _current is not None and _current.working:
        note_exception(_current, error)
    stop()


def hand_over() -> Path | None:
    """Make room for a framework that trains without torch's optimisers: a recorder that has seen no update ends, and
    its directory is free."""
    if _current is None or not _current.working or _current.step:
        return None
    stop()
    return _folder


def note_exception(hub: Hub, error: BaseException) -> None:
    """An exception ends the training."""
    hub.cut_short = True
    if hub.step:
        hub.event(*described(error))


def watch_exceptions(hub: Hub) -> None:
    """Note the exception that ends the script; it is shown and handled as ever."""
    hub.patches.add(before_uncaught(partial(note_exception, hub)))
