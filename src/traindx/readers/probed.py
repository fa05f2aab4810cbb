"""What probes left in a recording: their readings, their facts, and the run that was cut short for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from traindx.readers.find import find_runs
from traindx.reading import Reading
from traindx.run import Run

FEW = 50  # updates of a training that was cut short: too few for a curve to say anything


def readings_in(folder: Path) -> list[Reading]:
    return [Reading.from_json(entry["reading"]) for _, entry in _entries(folder) if entry.get("k") == "probe"]


def probe_lines(folder: Path) -> list[str]:
    """The lines that probes wrote, to be added to another recording: not their values, which would be of the past there."""
    return [
        line for line, entry in _entries(folder) if entry["k"] == "probe" or ("probe" in entry and entry["k"] != "rows")
    ]


def probed_run(folder: Path) -> Run:
    """The run of a recording that was cut short to probe it. A few updates make no curve, so only those are kept that are not
    finite."""
    run = find_runs([folder])[0]
    run.series = {
        name: series
        for name, series in run.series.items()
        if len(series) >= FEW or not np.isfinite(series.values).all()
    }
    return run


def _entries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    path = folder / "rank-0.jsonl"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        if '"probe"' in line:
            yield line, json.loads(line)
