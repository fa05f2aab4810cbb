"""DeepSpeed's CSV monitor: a folder with a file for each metric, `Train_Samples_lr.csv` with the header `step,lr`.

The file's name is the event's with its slashes made underscores, the header ends as the name does: that is what tells
these files from other tables. Their step counts samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from traindx.readers.base import FALLBACK, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.reach import open_file
from traindx.readers.settings import load_settings
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.run import Run

_HEADER = re.compile(r"step,([A-Za-z][\w .\-]*)\r?\n")
_HEADER_BYTES = 200
_SETTINGS = ("ds_config.json", "deepspeed_config.json", "deepspeed.json")


def sniff(source: Source) -> float:
    """One such file by itself is a table like any other, and better read as one."""
    return FALLBACK / 2 if _HEADER.match(source.text_head) else 0.0


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name, one_run=True)
    settings = source.nearby(*_SETTINGS, up=2)
    if settings is not None:
        builder.config.update(load_settings(settings))
    for path in sorted({source.path, *source.path.parent.glob("*_*.csv")}):
        event = _event(path)
        for line in Source(path).lines() if event else ():
            step, _, cell = line.rstrip("\r").partition(",")
            count, value = number_of(step), number_of(cell)
            if count is not None and value is not None:
                builder.row({event: value}, step=count)
    return builder.finish()


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if path.suffix == ".csv" and _event(path):
            folders.setdefault(path.parent, []).append(path)
    return [Bundle(found[0], frozenset(found)) for found in folders.values()]


def _event(path: Path) -> str:
    """What this file is about, as DeepSpeed called it ('Train/Samples/lr'); empty when it is no such file."""
    try:
        with open_file(path) as file:
            match = _HEADER.match(file.read(_HEADER_BYTES).decode(errors="replace"))
    except OSError:
        return ""
    if match is None or not path.stem.endswith(f"_{match.group(1).replace(' ', '_')}"):
        return ""
    return path.stem[: -len(match.group(1))].replace("_", "/") + match.group(1)


READER = Reader("deepspeed-csv", "DeepSpeed CSV monitor", sniff, read, claim)
