"""Lists that a script printed or wrote down as Python has them: `train_losses = [0.9, 0.7, …]`, `{'loss': […], …}`.

Nothing is evaluated: a list is what stands between brackets behind a name, and every entry must read as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.base import LIKELY, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.json_tables import feed_document, peek
from traindx.run import Run

MIN_VALUES = 5
_OF_THE_TEXT = 0.6  # a log that has a list here and there is no file of lists
_LIST = re.compile(
    r"(?P<quote>['\"]?)(?P<name>[A-Za-z][\w "
    r"./%@-]{0,60}?)(?P=quote)\s*[:=]\s*(?:[\w.]*\(\s*)?\[(?P<body>[^\[\]]{5,})(?:\]|\Z)"
)
_DRESS = re.compile(r"device='[^']*'|dtype=[\w.]+|grad_fn=<[^>]*>|[A-Za-z_][\w.]*\(|\)")  # tensor(0.5, device='cuda:0')


def sniff(source: Source) -> float:
    text = source.text_head if source.is_text else ""
    if "[" not in text or peek(source):
        return 0.0
    found = list(_lists(text))
    covered = sum(end - start for _, _, start, end in found)
    known = _known(source.path.name) or any(_known(name) for name, *_ in found)
    return LIKELY if found and known and covered > _OF_THE_TEXT * len(text.strip()) else 0.0


def read(source: Source) -> list[Run]:
    text = b"".join(source.chunks()).decode(source.encoding, errors="replace")
    found = list(_lists(text))
    if not found:
        raise TraindxError(f"{source.name} holds no lists of numbers.", "Each list needs a name: losses = [0.9, 0.7].")
    title = source.path.name.split(".")[0]
    document: dict[str, Any] = {}
    for name, values, *_ in found:
        # where names say nothing, they are those of runs, and the file says what was measured
        named = _known(name) or not _known(title)
        place = name if name not in document else f"{name} ({sum(key.startswith(name) for key in document) + 1})"
        document[place] = values if named else {title: values}
    sink = Sink(source, READER.name)
    feed_document(document, sink, title)
    return sink.finish()


def _known(name: str) -> bool:
    return meaning_of(name).kind in OBJECTIVES


def _lists(text: str) -> Iterator[tuple[str, list[float], int, int]]:
    """Name, values, beginning and end of every list of numbers."""
    for match in _LIST.finditer(text):
        cut = match.end() == len(text) and not match.group().endswith("]")
        numbers = numbers_in(match["body"], cut=cut)
        if numbers is not None and len(numbers) >= MIN_VALUES:
            yield match["name"].strip(), numbers, match.start(), match.end()


def numbers_in(body: str, *, cut: bool = False) -> list[float] | None:
    """The numbers between the brackets of a list, without what Python dresses them in; None when one is no number.
    `cut`: the last one may lack digits."""
    cells = [cell for cell in re.split(r"[,\s]+", _DRESS.sub(" ", body)) if cell]
    values = [number_of(cell) for cell in (cells[:-1] if cut else cells)]
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else None


READER = Reader("python-lists", "lists as Python prints them", sniff, read)
