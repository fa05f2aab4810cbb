"""Jupyter notebooks: what the cells printed, each cell handed to the reader that knows it, each training a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.base import CERTAIN, Reader
from traindx.readers.source import MemorySource, Source
from traindx.readers.tables.json_tables import load_document
from traindx.run import Event, Run

_OUT_OF_MEMORY = ("out of memory", "outofmemory", "resource exhausted", "resourceexhausted")


def sniff(source: Source) -> float:
    head = source.head
    if not head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return 0.0
    is_notebook = (b'"cells"' in head and b'"cell_type"' in head) or b'"nbformat"' in head or b'"worksheets"' in head
    return CERTAIN if is_notebook else 0.0


def read(source: Source) -> list[Run]:
    notebook, lost = load_document(source)
    runs: list[Run] = []
    for title, outputs in _cells(notebook):
        runs.extend(_training(source, title, outputs))
    trained = [run for run in runs if _points(run) >= 2 or (run.events and _points(run))]
    kept = trained or [run for run in runs if _points(run) or run.events]
    if not kept:
        raise TraindxError(
            f"No cell of {source.name} shows a training.",
            "Run the notebook with its outputs saved, or give the log it wrote.",
        )
    for run in kept:
        if lost:
            run.lost.append(lost)
        if len(kept) == 1:
            run.name = ""
    return kept


def _cells(notebook: Any) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Each code cell with outputs, and what to call it."""
    if not isinstance(notebook, Mapping):
        return
    sheets = notebook.get("worksheets")  # notebooks before version 4
    groups = [sheet.get("cells") for sheet in sheets if isinstance(sheet, Mapping)] if isinstance(sheets, list) else []
    groups.append(notebook.get("cells"))
    number = 0
    for cells in groups:
        for cell in cells if isinstance(cells, list) else ():
            number += 1
            outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
            if isinstance(outputs, list) and outputs:
                count = cell.get("execution_count") or cell.get("prompt_number")
                yield (
                    f"cell [{count}]" if count else f"cell {number}",
                    [item for item in outputs if isinstance(item, Mapping)],
                )


def _training(source: Source, title: str, outputs: Sequence[Mapping[str, Any]]) -> list[Run]:
    """The runs in one cell: from its tables or from its text, whichever tells more."""
    text = "".join(_text(output) for output in outputs)
    tables = [table for output in outputs for table in _tables(output)]
    found = [_best(source, title, _as_csv(table)) for table in tables if _is_training(table)]
    from_tables = [run for runs in found for run in runs]
    from_text = _best(source, title, text) if text.strip() else []
    runs = from_tables if sum(map(_points, from_tables)) >= sum(map(_points, from_text)) else from_text
    events = [event for output in outputs for event in _failure(output)]
    if not runs and any(event.kind == "oom" for event in events):  # other errors of a cell need not be a training's
        runs = [Run(source.name, READER.name)]
    for number, run in enumerate(runs):
        run.format = READER.name
        run.name = f"{title}, {run.name}" if run.name else title
        known = {event.kind for event in run.events}
        run.events.extend(event for event in events if number == len(runs) - 1 and event.kind not in known)
    return runs


def _best(source: Source, title: str, text: str) -> list[Run]:
    """What the surest reader finds in this text; text without an objective is no training."""
    from traindx.readers.find import candidates  # it imports every reader, this one too

    # the notebook's name says nothing about the numbers in a cell
    part = MemorySource(text.encode("utf-8", errors="replace"), source.path.with_name("cell"), source.name)
    for _, reader in candidates(part):
        if reader.name == READER.name:
            continue
        try:
            runs = [run for run in reader.read(part) if _points(run)]
        except TraindxError:
            continue
        if runs:
            return runs
    return []


def _points(run: Run) -> int:
    """The length of its longest objective; rows without a counter only count where they are a loss."""
    return max(
        (len(series) for series in run.of(*OBJECTIVES) if series.axis != "row" or series.meaning.kind == "loss"),
        default=0,
    )


def _text(output: Mapping[str, Any]) -> str:
    """What the output shows as plain text."""
    if output.get("output_type") in ("stream", "display_data", "execute_result", "pyout"):
        data = output.get("data")
        text = (
            output.get("text")
            if output.get("text") is not None
            else data.get("text/plain")
            if isinstance(data, Mapping)
            else None
        )
        joined = _joined(text)
        return joined if not joined or joined.endswith("\n") or output.get("output_type") == "stream" else f"{joined}\n"
    return ""


def _tables(output: Mapping[str, Any]) -> list[list[list[str]]]:
    """The tables the output shows as HTML: HF's and fastai's progress tables are such."""
    data = output.get("data")
    html = _joined(data.get("text/html") if isinstance(data, Mapping) else output.get("html"))
    if "<table" not in html:
        return []
    parser = _TableParser()
    parser.feed(html)
    parser.close()
    return [table for table in parser.tables if len(table) > 1]


def _is_training(table: Sequence[Sequence[str]]) -> bool:
    kinds = {meaning_of(name).kind for name in table[0] if name}
    return bool(kinds & {"step", "epoch"} and kinds & set(OBJECTIVES))


def _as_csv(table: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _failure(output: Mapping[str, Any]) -> list[Event]:
    if output.get("output_type") not in ("error", "pyerr"):
        return []
    text = f"{output.get('ename', '')}: {output.get('evalue', '')}".strip(": ")[:300]
    if output.get("ename") == "KeyboardInterrupt":
        return [Event("killed", "interrupted by hand")]
    return [Event("oom" if any(word in text.lower() for word in _OUT_OF_MEMORY) else "traceback", text)]


def _joined(text: Any) -> str:
    if isinstance(text, list):
        return "".join(piece for piece in text if isinstance(piece, str))
    return text if isinstance(text, str) else ""


class _TableParser(HTMLParser):
    """The cells of every table in a piece of HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.tables[-1][-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.tables[-1][-1][-1] += data.strip()


READER = Reader("jupyter", "Jupyter notebooks", sniff, read)
