"""Waits for the trackers that the script opens, and tells each of their runs the diagnosis right before it ends."""

from __future__ import annotations

import atexit
import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from traindx.live.events.hub import Hub
from traindx.live.host.ranks import place
from traindx.live.host.saying import say
from traindx.live.outside.page import diagnosis_of
from traindx.live.pushing import trackers
from traindx.live.pushing.base import Note, Tracker, note_of

MAX_TARGETS = 16  # runs or writers that are reported: a script that opens thousands does not mean them all


class Pusher:
    """One a process, of the first rank only."""

    def __init__(self, hub: Hub, folder: Path) -> None:
        self.hub = hub
        self.folder = folder
        self._targets: list[Any] = []  # kept alive, so that no other object gets the identity of one that was reported
        self._note: tuple[int, Note] | None = None  # by the step it was made at
        self._last_chances: set[str] = set()

    def attach(self) -> None:
        for tracker in trackers().values():
            self.hub.after_import(tracker.awaits, functools.partial(self._meet, tracker))

    def _meet(self, tracker: Tracker) -> None:
        """Learn when runs of this tracker begin and end."""
        for names, around in ((tracker.begins, self._around_begin), (tracker.ends, self._around_end)):
            for name in names:
                module, _, path = name.partition(":")
                *owners, attribute = path.split(".")
                try:
                    owner = functools.reduce(getattr, owners, importlib.import_module(module))
                except (ImportError, AttributeError):  # another version of the tracker
                    continue
                self.hub.patches.wrap(owner, attribute, functools.partial(around, tracker))

    def _around_begin(self, tracker: Tracker, original: Callable[..., Any]) -> Callable[..., Any]:
        def begin(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._guarded(tracker, lambda: self._began(tracker, args))
            return result

        return begin

    def _around_end(self, tracker: Tracker, original: Callable[..., Any]) -> Callable[..., Any]:
        def end(*args: Any, **kwargs: Any) -> Any:
            self._guarded(tracker, lambda: self._push(tracker, args))
            return original(*args, **kwargs)

        return end

    def _began(self, tracker: Tracker, given: Sequence[Any]) -> None:
        tracker.began(given)
        if tracker.id not in self._last_chances:
            self._last_chances.add(tracker.id)
            # what is registered last runs first at exit: before the tracker closes a run that the script left open
            atexit.register(lambda: self._guarded(tracker, lambda: self._push(tracker, ())))

    def _push(self, tracker: Tracker, given: Sequence[Any]) -> None:
        if not self.hub.working or not self.hub.step or place()[0] != 0:
            return
        for target in tracker.open(given):
            if len(self._targets) < MAX_TARGETS and not any(target is old or target == old for old in self._targets):
                self._targets.append(target)
                tracker.write(target, self._current())

    def _current(self) -> Note:
        if self._note is None or self._note[0] != self.hub.step:
            self.hub.write()
            self._note = self.hub.step, note_of(diagnosis_of(self.folder))
        return self._note[1]

    def _guarded(self, tracker: Tracker, act: Callable[[], None]) -> None:
        """Our faults are ours: one line, and the script goes on."""
        try:
            act()
        except Exception as error:
            say(f"nothing was pushed to {tracker.id} ({type(error).__name__}: {error})")
