"""Text logs of mmengine and its elder siblings (mmcv 1): 'Epoch(train) [1][1/6] lr: …', 'Epoch [1][50/7330] lr: …'.

Their lines are counters in brackets, names and numbers, which the general rules read: a training line's batches run
through the epochs, a validation line belongs to its epoch.
"""

from __future__ import annotations

import re

from traindx.readers.base import CERTAIN, LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.python_settings import load_python_settings
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect
from traindx.run import Run

NAME = "mmengine-text"
_LINE = re.compile(
    r"(?:Epoch|Iter)(?:\((?:train|val|test)\))?\s+\[\s*\d+\]?(?:\[\s*\d+)?/\s*\d+\]\s+(?:lr|base_lr|eta|\w+/\w+): "
)
_BANNER = re.compile(r" - mm\w+ - INFO - ")


class Lines(Dialect):
    name = NAME
    lines = _LINE


def sniff(source: Source) -> float:
    if not source.is_text:
        return 0.0
    if _BANNER.search(source.text_head):
        return CERTAIN
    return LIKELY if _LINE.search(source.text_head) else 0.0


def read(source: Source) -> list[Run]:
    """The log, with the settings that mmengine dumps into a folder beside it."""
    settings = load_python_settings(source.nearby("vis_data/config.py", up=0))
    runs = read_text(source, format=NAME)
    for run in runs:
        run.config = {**settings, **run.config}
    return runs


DIALECT = Lines
READER = Reader(NAME, "mmengine log", sniff, read)
