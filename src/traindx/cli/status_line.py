"""A line at the bottom of the terminal that the script's own output never meets.

The script writes to the same terminal and knows nothing of us. So the last row is taken out of what scrolls, as apt
does for its progress: whatever the script prints, its progress bars included, stays above it. Nothing is put between
the script and its terminal."""

from __future__ import annotations

import contextlib
import os
import sys

from traindx.cli.talk import is_terminal

MIN_ROWS = 6  # a terminal lower than this needs its rows for the script
SAVE, RESTORE = "\0337", "\0338"
FROM_THE_MARGIN = "\r\033[K"
DOWN_AND_UP = "\033D\033[A"  # on the last row this scrolls by one and leaves the cursor on its text; elsewhere nothing


class StatusLine:
    def __init__(self) -> None:
        self._size: os.terminal_size | None = None  # of the terminal whose last row is ours

    def show(self, text: str) -> None:
        size = _size()
        if size is None:
            return
        place = ""
        if size != self._size:
            self.clear()
            place = f"{DOWN_AND_UP}{SAVE}\033[1;{size.lines - 1}r{RESTORE}"
            self._size = size
        # a line that wraps would scroll
        _write(f"{place}{SAVE}\033[{size.lines};1H\033[2K{text[: size.columns - 1]}{RESTORE}")

    def alert(self, text: str) -> None:
        """A line that stays, above the status line. A progress bar that stands there is drawn again by its owner."""
        size = _size()
        _write(f"{text}\n" if size is None else f"{FROM_THE_MARGIN}{_fitted(text, size.columns - 1)}\n")

    def clear(self) -> None:
        """Give the row back."""
        if self._size is not None:
            _write(f"{SAVE}\033[r\033[{self._size.lines};1H\033[2K{RESTORE}")
            self._size = None


def _size() -> os.terminal_size | None:
    if not is_terminal(sys.stderr) or os.environ.get("TERM", "dumb") == "dumb":
        return None
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return None
    return size if size.lines >= MIN_ROWS and size.columns > 1 else None


def _fitted(text: str, room: int) -> str:
    """One line: the end of a long sentence is left out, the id in brackets behind it is not. The page says all."""
    if len(text) <= room:
        return text
    sentence, _, identifier = text.rpartition(" (")
    if not sentence or not identifier.endswith(")"):
        sentence, identifier = text, ""
    kept = f"… ({identifier}" if identifier else "…"
    return f"{sentence[: max(0, room - len(kept))].rstrip(' ,.:')}{kept}"[:room]


def _write(text: str) -> None:
    """In one piece, so that nothing of the script comes between."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
