"""Fits what the ranking's probability of health means among real logs, with repositories left out.

    python benchmarks/logs/fit.py INDEX.jsonl [INDEX.jsonl ...] [--write] [--only open|sealed]

The index is that of score.py: a `file`, `labels` (first = main), a `confidence` and the `repo` a log comes from. Logs
that are ambiguous or too short to tell are left out. Four numbers are fitted (engine/health.py): an intercept, a
factor for the log odds of the ranking, one for the plainest problem and one for any problem at all. Every repository is
left out in turn, and what is printed is measured on the logs that were left out. No page gives more than the share of
sound logs among those that got 90 % and more. `--write` fits on all of them and writes src/traindx/engine/health.json.
`--only` takes one half of the rows of sets 2 and later, by the hash of the repository's name, out of the fit ('open')
or out of what is measured ('sealed')."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traindx.engine.evidence import gather
from traindx.engine.health import DATA, SCHEMA, of_logs, plainest
from traindx.engine.rank import HEALTHY, rank
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.signals.disguise import unmasked
from traindx.symptoms import symptoms

Floats = NDArray[np.float64]
TARGET = Path(__file__).parents[2] / "src/traindx/engine" / DATA
RIDGE = 1.0  # pull towards 0 of both factors, in units of one log
LIKELY = 0.6  # of the weight of a label that is sure
TOP = 0.9
STEPS = 50  # of Newton's method


@dataclass(frozen=True)
class Row:
    """One log: what the ranking says of it before this fit, and its label."""

    name: str
    repo: str
    sealed: bool
    sure: bool
    healthy: bool
    ranked: float
    problem: float
    conclusive: bool

    @property
    def features(self) -> tuple[float, float, float, float]:
        kept = min(max(self.ranked, 0.001), 0.999)
        return 1.0, float(np.log(kept / (1 - kept))), self.problem, float(self.problem > 0)


def is_sealed(row: dict[str, Any]) -> bool:
    return row.get("set", 0) >= 2 and hashlib.sha1(row["repo"].encode()).digest()[0] % 2 == 1


def examine(row: dict[str, Any], root: Path) -> Row | None:
    """The run of the file that looks worst; None where it cannot be read."""
    try:
        runs = find_runs([root / row["file"]])
    except TraindxError:
        return None
    seen = []
    for run in runs:
        evidence = gather(unmasked(Signals(run)))
        known = [o for o in evidence.observations if o.state != "unknown"]
        ranked = rank(known, evidence.hints, unfamiliar=evidence.unfamiliar, training=evidence.training, on_logs=False)
        healthy = next(entry.probability for entry in ranked if entry.cause == HEALTHY)
        seen.append((healthy, plainest(known, symptoms()), any(o.conclusive for o in known if o.state == "present")))
    worst = min(seen)
    return Row(
        row["id"], row["repo"], is_sealed(row), row["confidence"] == "sure", row["labels"][0] == HEALTHY, *worst
    )  # fmt: skip


def fitted(rows: list[Row]) -> Floats:
    """Weights of a logistic regression by Newton's method, the factors with a small pull towards 0."""
    x = np.array([row.features for row in rows])
    y = np.array([float(row.healthy) for row in rows])
    weight = np.array([1.0 if row.sure else LIKELY for row in rows])
    pull = np.diag([0.0, RIDGE, RIDGE, RIDGE])
    found = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ found))
        gradient = x.T @ (weight * (y - p)) - pull @ found
        found = found + np.linalg.solve(x.T @ (x * (weight * p * (1 - p))[:, None]) + pull, gradient)
    return found


def left_out(rows: list[Row]) -> Floats:
    """P(healthy) of every log by a fit without its repository."""
    return np.array([_probability(fitted([other for other in rows if other.repo != row.repo]), row) for row in rows])


def _probability(weights: Floats, row: Row) -> float:
    return float(1 / (1 + np.exp(-np.array(row.features) @ weights)))


def area(rows: list[Row], p: Floats) -> float:
    """The area under the curve: how often a sound log gets more than a sick one."""
    well = p[[row.healthy for row in rows]]
    sick = p[[not row.healthy for row in rows]]
    if not len(well) or not len(sick):
        return float("nan")
    return float(np.mean((well[:, None] > sick[None, :]) + 0.5 * (well[:, None] == sick[None, :])))


def soundest(rows: list[Row], p: Floats) -> tuple[int, int]:
    """Of the logs that look soundest: how many are, and how many there are."""
    top = [row for row, share in zip(rows, p, strict=True) if share >= TOP]
    return sum(row.healthy for row in top), len(top)


def report(name: str, rows: list[Row], p: Floats) -> str:
    y = np.array([float(row.healthy) for row in rows])
    sure = [index for index, row in enumerate(rows) if row.sure or row.healthy]
    bins = [(p >= low) & (p < low + 0.2) for low in (0.0, 0.2, 0.4, 0.6, 0.8)]
    error = sum(abs(float(p[b].mean() - y[b].mean())) * b.sum() for b in bins if b.any()) / len(p)
    return (
        f"| {name} | {len(rows)} | {area(rows, p):.3f} | {area([rows[i] for i in sure], p[sure]):.3f} | "
        f"{np.mean((p - y) ** 2):.3f} | {error:.3f} | {int(((p < 0.5) & (y == 1)).sum())}/{int(y.sum())} | "
        f"{int(((p >= 0.5) & (y == 0)).sum())}/{int((1 - y).sum())} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help=f"write {DATA}")
    parser.add_argument("--only", choices=("open", "sealed"))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for index in arguments.index:
        for line in index.read_text().splitlines():
            row = json.loads(line) if line.strip() else None
            if row is None or row["confidence"] == "ambiguous" or "too_short_to_tell" in row["labels"]:
                continue
            found = examine(row, index.parent)
            rows += [found] if found is not None else []
    print("| P(healthy) | logs | area | area, sure ones | Brier | calibration | well below 1/2 | sick above 1/2 |")
    print("|---|---|---|---|---|---|---|---|")
    chosen = [row for row in rows if arguments.only is None or row.sealed == (arguments.only == "sealed")]
    print(report("of the ranking alone", chosen, np.array([row.ranked for row in chosen])))
    if arguments.only == "sealed":
        weights = fitted([row for row in rows if not row.sealed])
        print(report("fitted on the others", chosen, np.array([_probability(weights, row) for row in chosen])))
        return
    p = left_out(chosen)
    print(report("repository left out", chosen, p))
    print(report("as it is", chosen, np.array([of_logs().probability(r.ranked, r.problem) for r in chosen])))
    plain = [row for row in chosen if row.conclusive]
    share = (sum(row.healthy for row in plain) + 1) / (len(plain) + 2)
    print(f"conclusive: {len(plain)} logs, {sum(row.healthy for row in plain)} of them sound: {share:.3f}")
    sound, top = soundest(chosen, p)
    highest = (sound + 1) / (top + 2)
    print(f"{TOP:.0%} and more: {top} logs, {sound} of them sound: at most {highest:.3f}")
    if arguments.write:
        weights = fitted(chosen)
        source = (
            f"benchmarks/logs/fit.py on {len(chosen)} labelled logs of {len({row.repo for row in chosen})} "
            f"repositories; with each left out: area {area(chosen, p):.3f}; "
            f"of {top} with 90 % and more {sound} are sound"
        )
        numbers = dict(
            zip(("intercept", "ranking", "problem", "seen"), (round(float(w), 3) for w in weights), strict=True)
        )
        TARGET.write_text(
            json.dumps(
                {
                    "schema": SCHEMA,
                    "source": source,
                    **numbers,
                    "conclusive": round(share, 3),
                    "highest": round(highest, 3),
                },
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
