"""The values of a recording, kept as the text they were written in until somebody asks for a series.

A line of rows looks like {"k": "rows", "names": ["loss", "lr"], "rows": [[0, 2.3, 0.1], [1, 2.2, 0.1]]}; long lists of
names are written once, as {"k": "names", "of": 7, "names": [...]}, and rows then say "names": 7. A layer's series are
only decoded when a symptom looks at layers, so that a recording of many layers opens as fast as one of few."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np

from traindx.meaning import meaning_of
from traindx.readers.build import MAX_SERIES
from traindx.readers.timeline import ordered
from traindx.run import Floats, LateSeries, Series

ROWS = '{"k": "rows"'
LAST_STEP = 1e15  # no training counts as far
NAMES = '{"k": "names"'
_VALUES = ', "rows": '
_numbers = msgspec.json.Decoder(list[list[float]])


class _Block:
    """All rows with the same names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.places = {name: place for place, name in enumerate(names, 1)}
        self.count = 0
        self.last = 0.0
        self._texts: list[str] = []
        self._table: Floats | None = None

    def add(self, text: str) -> None:
        self._texts.append(text)
        self.count += text.count("], [") + 1
        last = float(text[text.rindex("[") + 1 :].partition(",")[0].rstrip("] "))
        self.last = max(self.last, last if math.isfinite(last) else 0.0)

    def table(self, lost: list[str]) -> Floats:
        """A row for each column: steps first."""
        if self._table is None:
            rows = [row for text in self._texts for row in _decoded(text)]
            whole = [row for row in rows if len(row) == len(self.names) + 1 and abs(row[0]) < LAST_STEP]
            if len(whole) < self.count:
                lost.append(f"{self.count - len(whole)} rows of the recording could not be read.")
            self._table = np.array(whole, dtype=np.float64).reshape(-1, len(self.names) + 1).T.copy()
            self._texts.clear()
        return self._table


class RecordedRows:
    """Takes in lines of rows; `series` gives what they hold."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self._blocks: dict[tuple[str, ...], _Block] = {}
        self._by_text: dict[str, _Block] = {}  # the names as they stand in the line, decoded once

    def take_names(self, entry: dict[str, Any]) -> None:
        """A list of names that rows refer to by its number. A ValueError where it is none."""
        self._by_text[str(entry.get("of"))] = self._block(entry.get("names"))

    def take(self, line: str) -> bool:
        """A line of rows; False where it is damaged."""
        head, _, values = line.rstrip().partition(_VALUES)
        text = head.partition(': "rows", "names": ')[2]
        if not values.startswith("[[") or not values.endswith("]]}") or not text:
            return False
        block = self._by_text.get(text)
        try:
            if block is None:
                if not text.startswith("["):
                    return False  # the line with these names is lost
                block = self._by_text[text] = self._block(json.loads(text))
            block.add(values[:-1])
        except ValueError:
            return False
        return True

    def _block(self, names: Any) -> _Block:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("names that are no words")
        return self._blocks.setdefault(tuple(names), _Block(tuple(names)))

    def series(self) -> dict[str, Series]:
        """Every series by name, decoded when it is first looked at."""
        holding: dict[str, list[_Block]] = {}
        for block in self._blocks.values():
            for name in block.names if block.count else ():
                if meaning_of(name).kind not in ("step", "epoch", "stamp"):  # every row has its step already
                    holding.setdefault(name, []).append(block)
        return dict(self._late(name, blocks) for name, blocks in list(holding.items())[:MAX_SERIES])

    def _late(self, name: str, blocks: list[_Block]) -> tuple[str, Series]:
        return name, LateSeries.of(
            name, meaning_of(name), partial(self._load, name, blocks), count=sum(block.count for block in blocks),
            last=max(block.last for block in blocks),
        )  # fmt: skip

    def _load(self, name: str, blocks: list[_Block]) -> tuple[Floats, Floats]:
        tables = [(block.table(self.lost), block.places[name]) for block in blocks]
        if len(tables) == 1:
            steps, values = tables[0][0][0], tables[0][0][tables[0][1]]
        else:
            steps = np.concatenate([table[0] for table, _ in tables])
            values = np.concatenate([table[place] for table, place in tables])
            order = np.argsort(steps, kind="stable")
            steps, values = steps[order], values[order]
        found, _ = ordered(name, meaning_of(name), steps, values, "step", None)
        return found.steps, found.values


def _decoded(text: str) -> Iterator[list[float]]:
    try:
        yield from _numbers.decode(text)
    except msgspec.MsgspecError:
        try:  # NaN and Inf are no JSON, but Python writes and reads them
            yield from (list(map(float, row)) for row in json.loads(text))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return
