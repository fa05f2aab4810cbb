"""What `traindx watch` draws: the table of runs, and the page of the one that is open."""

from __future__ import annotations

import math
import time
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from traindx.reporters import reporters
from traindx.reporters.layout import distinguished
from traindx.reporters.wording import amount, percent
from traindx.server.shelf import Shelf

STYLES = {"unhealthy": "bold red", "inconclusive": "yellow", "healthy": "green", "waiting": "dim"}
BARS = "▁▂▃▄▅▆▇█"
SPARK = 24
WIDE = 90  # columns from which the curve has room
NARROW = 64  # columns below which the length gives way to the cause
HELP = "q ends · j k choose, or scroll a page · Enter opens and closes"
FIXED, LENGTH, LEAST_ROOM = 24, 14, 12  # columns: verdict and changed with their gaps, the length, a name at least
RUNS_IN_SIGHT = 3  # runs that should be in sight at once
SCROLL = 3  # lines a key moves the page


class View:
    """One run fills the screen; of several the table is shown, and Enter opens the chosen one."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.chosen = ""
        self.moved = False  # until a key has chosen a run, it is the one that needs attention most
        self.opened = False
        self.shows_page = False
        self.above = 0  # lines of the page that are scrolled away
        self._page: tuple[str, str] = ("", "")  # what it was drawn of, and the page

    def take(self, key: str, up: tuple[str, ...], down: tuple[str, ...], enter: tuple[str, ...]) -> bool:
        """Act on a key; whether it meant something."""
        rows = [row for row in self.shelf.rows() if row["id"]]
        place = next((i for i, row in enumerate(rows) if row["id"] == self.chosen), 0)
        if self.shows_page and (key in up or key in down):
            self.above = max(0, self.above + (SCROLL if key in down else -SCROLL))  # its end is minded when it is drawn
        elif key in up or key in down:
            place = min(max(place + (1 if key in down else -1), 0), max(len(rows) - 1, 0))
            self.chosen, self.moved = rows[place]["id"] if rows else "", True
        elif key in enter:
            self.opened, self.moved, self.above = not self.opened, True, 0
        else:
            return False
        return True

    def drawn(self, width: int, height: int) -> RenderableType:
        rows = self.shelf.rows()
        read = [row for row in rows if row["id"]]
        if not self.moved or not any(row["id"] == self.chosen for row in read):
            self.chosen = read[0]["id"] if read else ""
        head, help = self._head(rows), Text(HELP, style="dim", no_wrap=True, overflow="ellipsis")
        self.shows_page = bool((len(rows) == 1 and read) or (self.opened and self.chosen))
        if self.shows_page:
            return Group(head, help, Text(""), self._open_page(width, height - 4))
        return Group(head, help, Text(""), self._table(rows, width, height - 6))

    def _head(self, rows: list[dict[str, Any]]) -> Text:
        tally = [
            f"{n} {word}"
            for word in ("unhealthy", "inconclusive", "healthy")
            if (n := sum(row["verdict"] == word for row in rows))
        ]
        waiting = sum(not row["id"] for row in rows)
        tally += [f"{waiting} still to be read"] if waiting else []
        text = Text("traindx watch ", style="bold")
        text.append(
            f"{self.shelf.folder} · {amount(len(rows), 'run')}: {', '.join(tally) or 'nothing yet'}", style="default"
        )
        text.no_wrap, text.overflow = True, "ellipsis"
        return text

    def _table(self, rows: list[dict[str, Any]], width: int, most: int) -> Table:
        used = FIXED + (LENGTH if width >= NARROW else 0) + (SPARK + 1 if width >= WIDE else 0)
        room = max((width - used) // 2, LEAST_ROOM)
        guesses = {row["name"]: _guess(row) for row in rows}
        lines = max((math.ceil((len(guess) + 1) / room) for guess in guesses.values()), default=1)
        wraps = most // lines >= min(len(rows), RUNS_IN_SIGHT)  # else the end of a cause gives way to the other runs
        most = most // lines if wraps else most
        names = distinguished(list(guesses), room)
        table = Table(box=None, expand=True, pad_edge=False, show_edge=False, header_style="dim")
        table.add_column("verdict", no_wrap=True)
        table.add_column("run", ratio=2, overflow="ellipsis", no_wrap=True)
        if width >= WIDE:
            table.add_column("curve", no_wrap=True, width=SPARK)
        table.add_column("most likely", ratio=2, overflow="ellipsis", no_wrap=not wraps)
        if width >= NARROW:
            table.add_column("length", no_wrap=True, justify="right")
        table.add_column("changed", no_wrap=True, justify="right")
        place = next((i for i, row in enumerate(rows) if row["id"] == self.chosen), 0)
        first = max(0, min(place - most // 2, len(rows) - most))
        for row in rows[first : first + most]:
            cells: list[RenderableType] = [Text(row["verdict"], style=STYLES[row["verdict"]]), Text(names[row["name"]])]
            if width >= WIDE:
                cells.append(Text(_spark(row.get("spark", [])), style="cyan"))
            changed = "● live" if row.get("live") else _ago(time.time() - row["changed"])
            cells += [Text(guesses[row["name"]]), *([Text(row.get("length", ""))] if width >= NARROW else [])]
            cells.append(Text(changed, style="green" if row.get("live") else "dim"))
            table.add_row(*cells, style="reverse" if row["id"] and row["id"] == self.chosen else None)
        return table

    def _open_page(self, width: int, height: int) -> Text:
        """The page of the chosen run, made again only when its files or the terminal changed."""
        opened = self.shelf.open(self.chosen)
        if opened is None:
            return Text("This run is gone.")
        state = f"{self.chosen} {opened.mark} {width}"
        if self._page[0] != state:
            self._page = (state, reporters()["text"].render([opened.diagnosis], color=False, width=width))
        lines = self._page[1].split("\n")
        self.above = max(0, min(self.above, len(lines) - height))
        lines = lines[self.above :]
        if len(lines) > height:
            lines = [*lines[: height - 1], f"… {len(lines) - height + 1} more lines"]
        page = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        for verdict, style in STYLES.items():
            page.highlight_words([verdict.upper()], style)
        page.highlight_words(
            ["Symptoms", "Most likely", "Suspected", "Else", "Could be", "Next", "Not measured"], "bold"
        )
        return page


def _guess(row: dict[str, Any]) -> str:
    """What is likeliest, its probability first: what does not fit may lose its end."""
    if row.get("cause"):
        return f"{percent(row['sure'])} {row['cause']}"
    return "cause unclear" if row["verdict"] == "unhealthy" else ""


def _spark(heights: list[float]) -> str:
    if not heights:
        return ""
    picked = (
        [heights[i * len(heights) // SPARK] for i in range(min(SPARK, len(heights)))]
        if len(heights) > SPARK
        else heights
    )
    return "".join(BARS[min(int(height * len(BARS)), len(BARS) - 1)] for height in picked)


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
