"""Scores the zoo: `python benchmarks/rl_zoo/score.py --work DIR [--seeds 5] [--list] [--zoo lm_zoo]`. Every
recording is diagnosed again by the version at hand."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from plan import HERE, Planned, planned

import traindx
from traindx.engine.rank import HEALTHY, OTHER


def ranked(recording: Path) -> tuple[str, list[str]]:
    """The verdict and the causes, likeliest first."""
    diagnosis = traindx.diagnose(recording)
    return diagnosis.verdict, [one.cause for one in diagnosis.hypotheses if one.cause not in (HEALTHY, OTHER)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--zoo", default=HERE.name)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for run in planned(asked.seeds, asked.only, asked.zoo)[0]:
        recording = asked.work / f"{run.name}.traindx"
        if (asked.work / f"{run.name}.json").exists() and recording.exists():
            _count(counts, run, *ranked(recording), listed=asked.list)
    _show(counts)


def _count(counts: dict[str, Counter[str]], run: Planned, verdict: str, causes: list[str], *, listed: bool) -> None:
    mine = counts[run.program]
    if not run.causes:
        mine["sound"] += 1
        mine["alarm"] += verdict.lower() == "unhealthy"
        outcome = "ALARM" if verdict.lower() == "unhealthy" else "ok"
    else:
        mine["faulty"] += 1
        first = bool(set(causes[:1]) & set(run.causes)) and verdict.lower() != "healthy"
        three = bool(set(causes[:3]) & set(run.causes)) and verdict.lower() != "healthy"
        mine["first"] += first
        mine["three"] += three
        mine["healthy"] += verdict.lower() == "healthy"
        outcome = "first" if first else "three" if three else "missed"
    if listed:
        print(f"{run.name:40} {verdict:13} {outcome:7} {', '.join(causes[:3])}")


def _show(counts: dict[str, Counter[str]]) -> None:
    total: Counter[str] = Counter()
    print(f"{'program':22} {'faulty':>6} {'first':>6} {'in 3':>6} {'healthy':>7} {'sound':>6} {'alarms':>6}")
    for program, mine in [*counts.items(), ("all", total)]:
        if program != "all":
            total.update(mine)
        row = [mine[key] for key in ("faulty", "first", "three", "healthy", "sound", "alarm")]
        print(f"{program:22} {row[0]:6} {row[1]:6} {row[2]:6} {row[3]:7} {row[4]:6} {row[5]:6}")


if __name__ == "__main__":
    main()
