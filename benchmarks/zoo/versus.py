"""traindx beside other tools on the same specimens of the zoo.

    python benchmarks/zoo/versus.py RESULTS… --venvs DIR [--most 600] [--only TOOL…]

Every tool gets its own environment below DIR (made on the first run; that needs a package index) and the same traces:
loss of every step, validation losses, learning rate, gradient norm. torchdiag looks at the live model instead. The
published rules of four systems run here, from their thresholds (rules.py). The others do not name causes but findings
that stand for several (MEANS), so a tool is near where the first thing it says stands for a set of causes with a right
one in it; traindx is near where such a set holds both its answer and a right one. It is right where it names the cause
itself, which the others do only where a finding stands for a single one. A tool raises a false alarm where it says
anything about a healthy training; how far it fires more often on faults than on those is what its firing tells.
traindx's rows are predictions for tasks that were left out of its counts."""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from evidence import evidence
from fit import left_out
from labels import Specimen, specimens
from rules import RULES

sys.path.append(str(Path(__file__).resolve().parents[1]))
from peers.exchange import rows
from peers.tools import KIN, MEANS, ask
from traindx.engine import judge
from traindx.engine.rank import HEALTHY, OTHER
from traindx.readers.find import find_runs


@dataclass(frozen=True)
class Answer:
    fires: bool
    right: bool
    near: bool
    confidence: float
    hit: bool  # what the confidence is about: the cause itself, or the finding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--venvs", type=Path, required=True)
    parser.add_argument("--most", type=int, default=600)
    parser.add_argument("--only", nargs="*", default=[])
    arguments = parser.parse_args()
    known = [s for s in specimens(arguments.results) if s.kind in ("healthy", "fault")]
    shown = known[:: max(1, len(known) // arguments.most)]
    print(f"{len(shown)} specimens, {sum(s.kind == 'fault' for s in shown)} with one fault\n")
    print(
        "| tool | fires on faults | right cause first | near misses included | false alarms | fires beyond those | "
        "calibration error |\n"
        "|---|---|---|---|---|---|---|"
    )
    for specimen in shown:
        specimen.evidence["trace"] = _of_trace(specimen.trace)
    for level, title in (
        ("live", "traindx, recording"),
        ("trace", "traindx, the same trace"),
        ("curve", "traindx, the script's own log"),
    ):
        answers = {s.name: _own(s, ranked, level) for s, ranked in left_out(known, level, "task")}
        print(row(title, shown, answers), flush=True)
    for name, rule in RULES.items():
        print(row(name, shown, {s.name: _published(s, rule(s.trace)) for s in shown}), flush=True)
    for tool, means in MEANS.items():
        if not arguments.only or tool in arguments.only:
            print(row(tool, shown, _asked(tool, means, shown, arguments.venvs)), flush=True)


def _own(specimen: Specimen, ranked: list, level: str) -> Answer:  # type: ignore[type-arg]
    fires = judge(specimen.observations(level), ranked) == "unhealthy"
    first = next(entry for entry in ranked if entry.cause not in (HEALTHY, OTHER))
    right = first.cause in specimen.right
    near = right or any(first.cause in kin and kin & specimen.right for kin in KIN)
    return Answer(fires, right, near, first.probability, right)


def _of_trace(trace: dict[str, Any]) -> dict[str, Any]:
    """What traindx sees in the trace that the other tools get."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["step", "train_loss", "val_loss", "lr", "grad_norm"])
            writer.writeheader()
            writer.writerows(rows(trace))
        return evidence(find_runs([path])[0])


def _published(specimen: Specimen, found: list[tuple[str, frozenset[str]]]) -> Answer:
    meant = found[0][1] if found else frozenset()
    near = bool(meant & specimen.right)
    return Answer(bool(found), near and len(meant) == 1, near, 1.0, near)


def _asked(tool: str, means: dict[str, set[str]], shown: Sequence[Specimen], venvs: Path) -> dict[str, Answer]:
    told = ask(tool, ({"name": s.name, "spec": s.spec, **s.trace} for s in shown), venvs)
    answers = {}
    for specimen in shown:
        found = told.get(specimen.name, [])
        meant = means.get(found[0][0], set()) if found else set()
        near = bool(meant & specimen.right)
        answers[specimen.name] = Answer(
            bool(found), near and len(meant) == 1, near, found[0][1] if found else 1.0, near
        )
    return answers


def row(title: str, shown: Sequence[Specimen], answers: dict[str, Answer]) -> str:
    faults = [answers[s.name] for s in shown if s.kind == "fault"]
    healthy = [answers[s.name] for s in shown if s.kind == "healthy"]
    said = [(answer.confidence, answer.hit) for answer in [*faults, *healthy] if answer.fires]
    error = _error(said) if said else float("nan")
    fires, alarms = np.mean([a.fires for a in faults]), np.mean([a.fires for a in healthy])
    right, near = np.mean([a.fires and a.right for a in faults]), np.mean([a.fires and a.near for a in faults])
    return f"| {title} | {fires:.0%} | {right:.0%} | {near:.0%} | {alarms:.0%} | {fires - alarms:.0%} | {error:.2f} |"


def _error(said: Sequence[tuple[float, bool]]) -> float:
    """Expected calibration error of the first answer where a tool fires, in ten bins."""
    total = 0.0
    for index in range(10):
        inside = [pair for pair in said if min(int(pair[0] * 10), 9) == index]
        if inside:
            total += len(inside) * abs(np.mean([p for p, _ in inside]) - np.mean([ok for _, ok in inside]))
    return float(total / len(said))


if __name__ == "__main__":
    main()
