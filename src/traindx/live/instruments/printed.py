"""Keeps the lines with numbers that the training prints, each with the number of updates made by then: what a script
measures itself, such as the accuracy on held-out data, stands nowhere else.

Whatever is written to `sys.stdout` and `sys.stderr` passes here on its way, `print`, `logging` and progress bars alike.
What the lines mean is found out by those who read the recording."""

from __future__ import annotations

import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.meaning import meaning_of

LONGEST = 600  # characters of a line: a row of measurements is shorter
EARLY = 200  # lines before the first update
DENSE = 1000  # lines of one kind that are all kept; of the next thousands half, a quarter, …
KINDS = 500  # that are told apart
MAX_CHARACTERS = 4 << 20  # characters in all
OWN = "traindx:"  # how our own lines begin
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_PAIR = re.compile(
    r"([A-Za-z][\w/@.-]{0,40}(?: [A-Za-z][\w/@.-]{0,20})?)\s*[:=]?\s*([-+]?\d[\d.]*(?:e[-+]?\d+)?%?)", re.I
)


class _Stream:
    """One stream: what was written since its last whole line."""

    def __init__(self) -> None:
        self.part = ""

    def lines(self, text: str) -> list[str]:
        """The lines that are whole now; of a progress bar, which begins its line again and again, the last state."""
        *whole, rest = (self.part + text).split("\n")
        self.part = rest.rpartition("\r")[2][-LONGEST:]
        return [line.rstrip("\r").rpartition("\r")[2] for line in whole]


class Printed(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._kinds: Counter[str] = Counter()
        self._early: list[str] = []
        self._size = 0

    def attach(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with contextlib.suppress(AttributeError, TypeError):  # a stream that cannot be changed
                    self.hub.patch(stream, "write", self._around_write)

    def _around_write(self, original: Callable[..., Any]) -> Callable[..., Any]:
        hub, stream = self.hub, _Stream()

        def write(text: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(text, *args, **kwargs)
            if not hub.ended and isinstance(text, str):
                if "\n" not in text:
                    stream.part = (stream.part + text)[-2 * LONGEST :]
                    return result
                began = time.perf_counter()
                for line in stream.lines(text):
                    self._take(line)
                hub.spend(time.perf_counter() - began)
            return result

        return write

    def _take(self, line: str) -> None:
        line = _ESCAPE.sub("", line) if "\x1b" in line else line
        if not 3 <= len(line) <= LONGEST or self._size > MAX_CHARACTERS or line.startswith(OWN):
            return
        kind = line.translate(_WITHOUT_DIGITS)
        if len(kind) == len(line) or not any(map(str.isalpha, kind)):
            return  # no number, or nothing but numbers
        if len(self._kinds) >= KINDS and kind not in self._kinds:
            return
        self._kinds[kind] += 1
        if not _is_kept(self._kinds[kind]):
            return
        text = only_numbers(line) if self.hub.private else line.strip()
        self._size += len(text)
        if self.hub.step:
            self._write_early()
            self.hub.printed(text, self.hub.step)
        elif len(self._early) < EARLY:
            self._early.append(text)

    def _write_early(self) -> None:
        """A process that makes no update leaves no recording, so what it prints before the first one waits."""
        early, self._early = self._early, []
        for text in early:
            self.hub.printed(text, 0)

    def on_end(self) -> None:
        if self.hub.step:
            self._write_early()


def only_numbers(line: str) -> str:
    """The numbers of a line that are known by name, and none of its other words."""
    known = ((name, value) for name, value in _PAIR.findall(line) if meaning_of(name).kind != "other")
    return " ".join(f"{name}={value}" for name, value in known)


def _is_kept(number: int) -> bool:
    """Of the lines of one kind: the first thousand, then every second, every fourth, …"""
    return number % (1 << max(0, (number // DENSE).bit_length())) == 0 or number <= DENSE


OBSERVER = Printed
