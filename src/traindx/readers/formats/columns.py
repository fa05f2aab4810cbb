"""Tables inside a text log: a header of names, then rows of numbers. fastai, spaCy, Ultralytics, notebooks, Markdown.

A header counts only if at least one of its names is that of a loss or a score; a row belongs to it if it has as many
cells. Of the many frames Ultralytics prints of one row only the last is kept.
"""

from __future__ import annotations

import re

from traindx.meaning import Split, meaning_of
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.frames import role_of
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.keys import OBJECTIVES, meaning_in_text
from traindx.readers.text.tokens import NUMBER

NAME = "table"
_REACH = 60  # lines below a header within which its first row must come
_BAR = re.compile(r":?\s+\d+%\s?(?:\|.*|[━─╸╺╴╶ ].*)?$")
_CELLS = re.compile(r"\s*\|\s*|\t\s*|\s{2,}")
_INDEX = "epoch"  # what the unnamed first column of a printed data frame counts
_WORD = re.compile(r"[A-Za-z#][\w@.:/%()#\- ]{0,30}")
_OF = re.compile(r"(\d+)/(\d+)")
# YOLOv5's header calls its losses by their bare names
_PARTS = {
    "box": "box_loss",
    "obj": "obj_loss",
    "cls": "cls_loss",
    "total": "total_loss",
    "seg": "seg_loss",
    "dfl": "dfl_loss",
}
# what Ultralytics prints below a header that went to another stream
_RESULTS = ["Class", "Images", "Instances", "P(B)", "R(B)", "mAP50(B)", "mAP50-95(B)"]
_STEPS = {"#": "step", "E": "epoch", "iter": "step", "Iter": "step"}


_Held = tuple[str, dict[str, float], float | None, float | None, Split, int]  # table, values, step, epoch, split, place


class Tables(Dialect):
    def __init__(self) -> None:
        self.names: list[str] = []
        self.split: Split = ""
        self.age = 0
        self.held: _Held | None = None
        self.epoch: float | None = None

    def take(self, line: str) -> Handler | None:
        if len(line) > 400:
            return None
        names = header_of(line)
        if names:
            self.adopt(names)
            return self.header
        self.age += 1
        if self.names and self.age <= _REACH and self.cells(line) is not None:
            return self.row
        return None

    def names_for(self, cells: list[str]) -> list[str]:
        if self.split == "train" and cells[0] == "all" and len(cells) == len(_RESULTS):
            return _RESULTS
        return self.names

    def adopt(self, names: list[str]) -> None:
        self.names = names
        self.age = 0
        lower = [name.lower() for name in names]
        training = "epoch" in lower and any(name.replace("_", "") == "gpumem" for name in lower)
        self.split = "train" if training else "val" if lower[0] == "class" else ""
        if training:
            self.names = [_PARTS.get(name, name) for name in names]

    def header(self, line: str, sink: Sink) -> None:
        names = header_of(line)
        if names:
            self.adopt(names)

    def cells(self, line: str) -> list[str] | None:
        """The cells of a row of the current table, None when the line is none."""
        bare = _BAR.sub("", line).strip().strip("|").strip()
        if not bare:
            return None
        for cells in _ways(bare):
            names = self.names_for(cells)
            if len(cells) == len(names) + 1 and number_of(cells[-1]) is None and not _OF.fullmatch(cells[-1]):
                cells = cells[:-1]  # a remark behind the row: '← best'
            elif len(cells) == len(names) + 1 and cells[0].isdigit():
                cells = cells[1:]  # the index of a data frame
            if len(cells) != len(names):
                continue
            first = 1 if names[0] == "Class" else 0
            if (first and cells[0] != "all") or (self.split == "train" and not first and not _OF.fullmatch(cells[0])):
                return None
            numbers = [cell for cell in cells[first:] if number_of(cell) is not None or _OF.fullmatch(cell)]
            if len(numbers) >= max(2, len(cells) - first - 2):
                return cells
        return None

    def row(self, line: str, sink: Sink) -> None:
        cells = self.cells(line) if self.names else None
        if cells is None:
            return
        values: dict[str, float] = {}
        step: float | None = None
        epoch: float | None = None
        names = self.names_for(cells)
        split: Split = "val" if names[0] == "Class" else self.split
        for name, cell in zip(names, cells, strict=True):
            of = _OF.fullmatch(cell)
            number = float(of.group(1)) if of else number_of(cell)
            if number is None:
                continue
            kind = meaning_of(_STEPS.get(name, name)).kind
            if kind == "epoch":
                epoch = number
                if of:
                    sink.plan("planned_epochs", float(of.group(2)))
            elif kind == "step":
                step = number
            else:
                values[name] = number
        if split == "train":
            self.epoch = epoch
        elif split == "val" and epoch is None:
            epoch = self.epoch
        self.hold((",".join(names), values, step, epoch, split, sink.place), sink)

    def hold(self, row: _Held, sink: Sink) -> None:
        """Keep the row until another one comes: a further frame of the same row takes its place."""
        if self.held is not None and (self.held[0] != row[0] or self.held[2:4] != row[2:4] or row[2:4] == (None, None)):
            self.flush(sink)
        self.held = row

    def flush(self, sink: Sink) -> None:
        if self.held is not None:
            _, values, step, epoch, split, place = self.held
            sink.emit(values, step=step, epoch=epoch, split=split, dialect=NAME, place=place)
        self.held = None

    def close(self, sink: Sink) -> None:
        self.flush(sink)


def header_of(line: str) -> list[str]:
    """The names of a table's header, [] when the line is none."""
    bare = _BAR.sub("", line).strip().strip("|").strip()
    if not bare or NUMBER.search(bare):
        return []
    if bare.startswith(",") and bare.count(",") > 1:  # pandas: ',loss,acc,val_loss'
        bare = _INDEX + bare
    for cells in _ways(bare):
        names = _tidy(cells)
        if len(names) < 2 or not all(_WORD.fullmatch(name) for name in names) or len(set(names)) < len(names):
            continue
        if any(":" in name[:-1] and " " in name for name in names):
            continue
        kinds = [meaning_in_text(_STEPS.get(name, name)).kind for name in names]
        if any(role_of(name) == "run" for name in names) and not {"epoch", "step"} & {*kinds}:
            continue  # '| model | accuracy |': the results of several trainings
        measures = any(kind in OBJECTIVES for kind in kinds)
        ultralytics = any(name.lower().replace("_", "") == "gpumem" for name in names)
        counts = kinds[0] in ("epoch", "step") or names[0] == "Class"
        spaced = len(cells) > 1 and cells is not bare.split() and len(_CELLS.split(bare)) > 1
        known = sum(kind != "other" for kind in kinds) >= 0.6 * len(kinds)
        if (measures or ultralytics) and (counts or (spaced and known)):
            return names
    return []


def _ways(bare: str) -> list[list[str]]:
    """The cells of a line, by each way of setting them apart that it may have been written in."""
    ways = [_CELLS.split(bare), bare.split()]
    if bare.count(",") > 1 and " " not in bare:
        ways.append(bare.split(","))
    return ways


def _tidy(cells: list[str]) -> list[str]:
    """Ultralytics sets a group over several names, 'Box(P R mAP50 mAP50-95)'; they become 'P(B)', 'R(B)' as in its
    CSV."""
    names: list[str] = []
    group = ""
    for cell in cells:
        name = cell.strip().strip("*:").strip()
        if name.count("(") > name.count(")"):
            group, name = name.split("(", 1)
        closes = name.count(")") > name.count("(")
        name = name.rstrip(")") if closes else name
        names.append(f"{name}({group[:1]})" if group else name)
        group = "" if closes else group
    return names


DIALECT = Tables
