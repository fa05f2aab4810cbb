"""Scores traindx on an index of labelled training logs.

    python benchmarks/logs/score.py INDEX.jsonl [--half tune|held-out] [--directories] [--verbose]
        [--causes CAUSES.json]

Each line of the index names a log (`file`, relative to the index), its `labels` (first = main) and a `confidence`
(sure, likely, ambiguous). The logs themselves belong to their authors and are not part of this repository. Every log
falls into one of two halves by the hash of its id: thresholds were chosen while looking at 'tune' only; 'held-out' is
reported beside it. A second table has the verdicts, how well P(healthy) separates and, where CAUSES.json (id → causes
that fit, by a reader's judgement; a row's own `cause` counts too) says what is right, the named causes: a page decides
from 25 % on and above health, else the right one must be among its three."""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.readers.find import find_runs

SYMPTOMS_OF = {
    "not_learning": {"flat-from-start", "loss-at-chance", "prediction-collapse", "reward-flat", "reward-spread-zero"},
    "nan_inf": {"nonfinite-loss"},
    "overfitting": {"overfitting-gap"},
    "divergence": {"divergence", "ends-off-best", "reward-falls"},
    "val_spikes": {"val-spike", "val-noisy"},
    "loss_spikes": {"loss-spike"},
    "lr_schedule_problem": {"lr-schedule-anomaly"},
    "throughput_problem": {"slow-input-pipeline", "slow-step", "throughput-drop"},
    "too_short_to_tell": {"too-short"},
}
DECIDED = 0.25  # a page names one cause from here on
CONFIDENT = 0.5


@dataclass
class Result:
    row: dict[str, Any]
    half: str
    read: bool
    error: str
    verdict: str
    present: set[str]
    seconds: float
    causes: list[str]
    ranking: list[tuple[str, float]]
    well: float  # P(healthy) of the run that looks worst

    @property
    def healthy(self) -> bool:
        return bool(self.row["labels"][0] == "healthy")

    @property
    def too_short(self) -> bool:
        return "too_short_to_tell" in self.row["labels"]

    @property
    def pathological(self) -> bool:
        return not self.healthy and not self.too_short

    @property
    def hit(self) -> bool:
        """One of the labels is a present symptom (or the verdict, for healthy and too short)."""
        for label in self.row["labels"]:
            if label == "healthy":
                if self.verdict == "healthy":
                    return True
            elif self.present & SYMPTOMS_OF.get(label, {label.replace("_", "-")}):
                return True
        return False


def half_of(identifier: str) -> str:
    return "tune" if hashlib.sha1(identifier.encode()).digest()[0] % 2 == 0 else "held-out"


def examine(row: dict[str, Any], root: Path, directories: bool) -> Result:
    path = root / row["id"] if directories else root / row["file"]
    began = time.process_time()
    half = half_of(row["id"])
    try:
        pages: list[Diagnosis] = [diagnose(run) for run in find_runs([path])]
    except TraindxError as error:
        return Result(row, half, False, str(error), "", set(), time.process_time() - began, [], [], 0.0)
    verdicts = {page.verdict for page in pages}
    verdict = next(v for v in ("unhealthy", "inconclusive", "healthy") if v in verdicts)
    present = {symptom.id for page in pages for symptom in page.present()}
    worst = next(page for page in pages if page.verdict == verdict)
    top = [f"{h.cause} {h.confidence:.0%}" for h in worst.hypotheses[:3]]
    ranking = [(h.cause, h.confidence) for h in worst.hypotheses]
    well = min(next((h.confidence for h in page.hypotheses if h.cause == "healthy"), 0.0) for page in pages)
    return Result(row, half, True, "", verdict, present, time.process_time() - began, top, ranking, well)


def area(well: list[float], sick: list[float]) -> float:
    """How often a sound log gets a higher P(healthy) than a sick one."""
    pairs = [(a > b) + 0.5 * (a == b) for a in well for b in sick]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def named(result: Result, right: set[str]) -> str:
    """'right', 'undecided' with the right one among three, 'missed', or 'wrong' where it is named with 50 % or more."""
    well = next((share for cause, share in result.ranking if cause == "healthy"), 0.0)
    faults = [(cause, share) for cause, share in result.ranking if cause not in ("healthy", "other")]
    if not faults:
        return "missed"
    first, share = faults[0]
    if share >= DECIDED and share > well:
        return "right" if first in right else "wrong" if share >= CONFIDENT else "missed"
    return "undecided" if {cause for cause, _ in faults[:3]} & right else "missed"


def verdicts(results: list[Result], causes: dict[str, list[str]]) -> str:
    strict = [r for r in results if r.row["confidence"] != "ambiguous" and r.read and not r.too_short]
    well = [r for r in strict if r.healthy]
    sure = [r for r in strict if r.pathological and r.row["confidence"] == "sure"]
    sick = [r for r in strict if r.pathological]
    known = [(r, set(causes.get(r.row["id"], [])) | ({r.row["cause"]} if r.row.get("cause") else set())) for r in sick]
    outcomes = [named(r, right) for r, right in known if right]
    return (
        "| sound: healthy / unhealthy | sure sick: unhealthy / healthy | all sick: unhealthy / healthy | area of "
        "P(healthy), sure ones | cause right or among three | confidently wrong |\n|---|---|---|---|---|---|\n"
        f"| {_of(well, 'healthy')} / {_of(well, 'unhealthy')} of {len(well)} | {_of(sure, 'unhealthy')} / "
        f"{_of(sure, 'healthy')} of {len(sure)} | {_of(sick, 'unhealthy')} / {_of(sick, 'healthy')} of {len(sick)} | "
        f"{area([r.well for r in well], [r.well for r in sick]):.3f}, "
        f"{area([r.well for r in well], [r.well for r in sure]):.3f} | "
        f"{sum(o in ('right', 'undecided') for o in outcomes)}/{len(outcomes)} ({outcomes.count('right')} decided) | "
        f"{outcomes.count('wrong')}/{len(outcomes)} |"
    )


def _of(results: list[Result], verdict: str) -> int:
    return sum(r.verdict == verdict for r in results)


def table(results: list[Result]) -> str:
    lines = [
        "| logs | read | healthy ones called unhealthy | sure sick ones with a right symptom | likely sick ones | too "
        "short → inconclusive |",
        "|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.half].append(result)
    groups["all"] = results
    for name in ("tune", "held-out", "all"):
        rows = groups.get(name, [])
        if not rows:
            continue
        strict = [r for r in rows if r.row["confidence"] != "ambiguous"]
        well = [r for r in strict if r.healthy]
        sure = [r for r in strict if r.pathological and r.row["confidence"] == "sure"]
        likely = [r for r in strict if r.pathological and r.row["confidence"] == "likely"]
        short = [r for r in strict if r.too_short]
        lines.append(
            f"| {name} ({len(rows)}) | {sum(r.read for r in rows)}/{len(rows)} | "
            f"{sum(r.verdict == 'unhealthy' for r in well)}/{len(well)} | {sum(r.hit for r in sure)}/{len(sure)} | "
            f"{sum(r.hit for r in likely)}/{len(likely)} | "
            f"{sum(r.verdict == 'inconclusive' for r in short)}/{len(short)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--half", choices=("tune", "held-out"))
    parser.add_argument(
        "--directories", action="store_true", help="diagnose each log's directory instead of its main file"
    )
    parser.add_argument("--verbose", action="store_true", help="one line a log")
    parser.add_argument("--causes", type=Path, help="JSON: id of a log → causes that fit it")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.index.read_text().splitlines() if line.strip()]
    if arguments.half:
        rows = [row for row in rows if half_of(row["id"]) == arguments.half]
    results = [examine(row, arguments.index.parent, arguments.directories) for row in rows]
    if arguments.verbose:
        for r in results:
            mark = "·" if r.row["confidence"] == "ambiguous" else "ok" if r.hit else "XX"
            print(
                f"{mark:3}{r.row['id']:24}{','.join(r.row['labels'])[:34]:35}{r.row['confidence']:10}{r.verdict or r.error[:60]:13}"  # noqa: E501
                f"{' '.join(sorted(r.present))[:90]:92}{r.causes[:2]} {r.seconds:.2f}s"
            )
    print(table(results))
    print()
    print(verdicts(results, json.loads(arguments.causes.read_text()) if arguments.causes else {}))


if __name__ == "__main__":
    main()
