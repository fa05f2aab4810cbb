"""What probes left in a recording: their readings, their facts, and the run that was cut short for them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from traindx.readers.find import find_runs
from traindx.reading import Reading
from traindx.run import Run

_PROBE = '{"k": "probe"'
TOO_FEW_UPDATES = 50  # updates of a training that was cut short: too few for a curve to say anything


def readings_in(folder: Path) -> list[Reading]:
    path = folder / "rank-0.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [Reading.from_json(json.loads(line)["reading"]) for line in lines if line.startswith(_PROBE)]


def probed_run(folder: Path) -> Run:
    """The run of a recording that was cut short to probe it. What was trained before and for the probes makes no curve,
    unless it was asked to train for a while first, so only those values are kept that are not finite."""
    run = find_runs([folder])[0]
    before = max((reading.step for reading in readings_in(folder)), default=0)
    return without_curves(run) if before < TOO_FEW_UPDATES else run


def without_curves(run: Run) -> Run:
    run.series = {name: one for name, one in run.series.items() if not np.isfinite(one.values).all()}
    return run
