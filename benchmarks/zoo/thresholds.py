"""Fits the thresholds that no reference gives from kept recordings, without training anything.

    python benchmarks/zoo/thresholds.py RESULTS --kept DIR [--rate 0.005] [--write] [--verbose]

RESULTS is the results.jsonl of make.py and DIR where it kept the recordings (`--keep`). Every recording is judged once
while all comparisons with a threshold are noted. A threshold that decides alone for sound runs (its symptom would be
present in more than the stated share of them) is moved to the quantile of what sound runs were measured at; the others
keep their value. What is written beside each value into src/traindx/thresholds.json is its source: how many sound and
damaged runs were compared with it, how many reached it, and this command."""

from __future__ import annotations

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("TRAINDX_CASES", "off")

import numpy as np
from labels import specimens

from traindx.engine.observe import observe
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.symptoms import symptoms, thresholds
from traindx.thresholds import Threshold, comparisons

FITS = Path(__file__).resolve().parents[2] / "src" / "traindx" / "thresholds.json"
COMMAND = "benchmarks/zoo/thresholds.py"
LEAST_SOUND = 50  # runs compared: a quantile of fewer says little
Compared = dict[
    str, tuple[float, float]
]  # by threshold: the value nearest to reaching it, and the one farthest from it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=0.005, help="of sound runs that may show a symptom")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    known = [one for one in specimens([arguments.results]) if one.kind in ("healthy", "fault")]
    paths = [arguments.kept / f"{one.spec['name']}.traindx" for one in known]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        seen = list(pool.map(_judged, paths, chunksize=10))
    runs = [(one.kind, *found) for one, found in zip(known, seen, strict=True) if found is not None]
    fits = {}
    for symptom in symptoms():
        for threshold in thresholds(symptom).values():
            if threshold.name.startswith(f"{symptom}."):
                fits[threshold.name] = fit(threshold, symptom, runs, arguments.rate)
    moved = {name: entry for name, entry in fits.items() if "value" in entry}
    print(f"{len(runs)} recordings, {len(fits)} fitted thresholds, {len(moved)} moved")
    for name, entry in fits.items() if arguments.verbose else moved.items():
        print(f"{name}: {entry}")
    if arguments.write:
        FITS.write_text(json.dumps({"thresholds": fits}, indent=1, ensure_ascii=False) + "\n")


def _judged(path: Path) -> tuple[set[str], Compared] | None:
    """The symptoms a recording shows, and what it was compared with."""
    if not path.exists():
        return None
    values: dict[str, list[float]] = defaultdict(list)
    sides: dict[str, Threshold] = {}

    def note(threshold: Threshold, measured: float) -> None:
        if threshold.name and not np.isnan(measured):
            values[threshold.name].append(measured)
            sides[threshold.name] = threshold

    with comparisons(note):
        shown = {one.id for one in observe(Signals(find_runs([path])[0])) if one.state == "present"}
    nearest = {name: _ends(sides[name], found) for name, found in values.items()}
    return shown, nearest


def _ends(threshold: Threshold, values: Sequence[float]) -> tuple[float, float]:
    ordered = (max(values), min(values)) if threshold.side == "above" else (min(values), max(values))
    return float(ordered[0]), float(ordered[1])


def fit(
    threshold: Threshold, symptom: str, runs: Sequence[tuple[str, set[str], Compared]], rate: float
) -> dict[str, Any]:
    """The source of a threshold, with a new value where it lets too many sound runs show its symptom."""
    name = threshold.name
    sound = [compared[name][0] for kind, _, compared in runs if kind == "healthy" and name in compared]
    damaged = [compared[name][0] for kind, _, compared in runs if kind == "fault" and name in compared]
    shown = sum(symptom in found for kind, found, _ in runs if kind == "healthy")
    every = sum(kind == "healthy" for kind, _, _ in runs)
    counts = (
        f"reached in {_reached(threshold, sound)} of {len(sound)} sound and {_reached(threshold, damaged)} of "
        f"{len(damaged)} damaged runs"
    )
    alarms = f"the symptom shows in {shown} of {every} sound runs"
    if shown <= rate * every or len(sound) < LEAST_SOUND:
        return {"source": f"{counts}; {alarms} ({COMMAND})"}
    share = 1 - rate if threshold.side == "above" else rate
    value = float(f"{np.quantile(sound, share):.3g}")
    beyond = value > threshold.value if threshold.side == "above" else value < threshold.value
    if not beyond:
        return {"source": f"{counts}; {alarms} ({COMMAND})"}
    source = f"quantile {share:g} of {len(sound)} sound runs, {threshold.value:g} before; {alarms} then ({COMMAND})"
    return {"value": value, "source": source}


def _reached(threshold: Threshold, values: Sequence[float]) -> int:
    above = threshold.side == "above"
    return sum(value >= threshold.value if above else value <= threshold.value for value in values)


if __name__ == "__main__":
    main()
