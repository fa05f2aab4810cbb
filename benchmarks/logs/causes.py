"""Fits what a problem of a log turned out to be, on labelled causes, with repositories left out.

    python benchmarks/logs/causes.py DIRECTORY [DIRECTORY ...] [--write] [--verbose]

A directory holds index.jsonl (as score.py takes it) and CAUSES.json (id of a log → causes that fit it, by a reader's
judgement). Logs that are ambiguous, sound or without such a judgement are left out. The ranking says how likely every
cause is given what the log shows; what is fitted is a factor for every cause and kind of problem (engine/priors.py), by
expectation and maximisation, because a log may have several causes that fit. A factor is pulled towards 1 as by so many
logs of which the ranking was right (PULL). What is printed is measured on logs whose repository was left out: how sure
the first cause was, how often it was right, and how many were wrong at 50 % or more. `--write` fits on all of them and
writes them into src/traindx/engine/priors.json."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from traindx.engine.evidence import gather
from traindx.engine.health import of_logs, plainest
from traindx.engine.priors import DATA, NOT_FINITE, problem_of
from traindx.engine.rank import BRIEF, HEALTHY, OTHER, rank
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.signals.disguise import unmasked
from traindx.symptoms import symptoms

TARGET = Path(__file__).parents[2] / "src/traindx/engine" / DATA
PULL = 10.0  # in logs; of 2, 4, 10 and 20 the least at which no more than one in thirty is wrong at 50 % and more
SHARE_OF_OTHER = 0.3  # of .1 to 1 the likeliest, repositories left out
UNSIGNED = (NOT_FINITE, "fp16-overflow")  # half precision needs a sign of it, whatever threads found out later
LIKELY = 0.6  # of the weight of a label that is sure
ROUNDS = 8
BINS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.01)
CONFIDENT = 0.5
Factors = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Row:
    """One sick log. `shares`: of the causes something speaks for, in the ranking without health; the rest is other."""

    name: str
    repo: str
    weight: float
    right: frozenset[str]
    problem: str
    brief: bool
    shares: Mapping[str, float]
    unsupported: Mapping[str, float]
    healthy: float

    def leaning(self, factors: Factors) -> dict[str, float]:
        """The shares with these factors."""
        kept = {cause: share * factors.get((self.problem, cause), 1.0) for cause, share in self.shares.items()}
        lost = sum(share * factors.get((self.problem, cause), 1.0) for cause, share in self.unsupported.items())
        kept[OTHER] = self.shares[OTHER] * (1.0 if self.problem == NOT_FINITE else SHARE_OF_OTHER)
        total = sum(kept.values()) + lost
        found = {cause: share / total for cause, share in kept.items()}
        found[OTHER] += lost / total
        return found


def examine(row: dict[str, object], root: Path, right: Sequence[str]) -> Row | None:
    """The run of the file that looks worst; None where it cannot be read or shows no problem."""
    try:
        runs = find_runs([root / str(row["file"])])
    except TraindxError:
        return None
    problems = {i for i, symptom in symptoms().items() if symptom.severity == "problem"}
    seen = []
    for run in runs:
        evidence = gather(unmasked(Signals(run)))
        known = [o for o in evidence.observations if o.state != "unknown"]
        ranked = rank(known, evidence.hints, unfamiliar=evidence.unfamiliar, training=evidence.training, on_logs=False)
        well = next(entry.probability for entry in ranked if entry.cause == HEALTHY)
        failed = any(o.conclusive for o in known if o.state == "present")
        health = of_logs().probability(well, plainest(known, symptoms()), failed)
        faults = [entry for entry in ranked if entry.cause != HEALTHY]
        seen.append((health, len(seen), known, faults, evidence.training))
    health, _, known, ranked, training = min(seen)
    problem = problem_of(known, problems, training)
    if problem is None:
        return None
    return Row(
        str(row["id"]), str(row["repo"]), 1.0 if row["confidence"] == "sure" else LIKELY, frozenset(right), problem,
        any(o.id == BRIEF and o.state == "present" for o in known),
        {e.cause: e.probability for e in ranked if e.supports or e.cause == OTHER},
        {e.cause: e.probability for e in ranked if not e.supports and e.cause != OTHER}, health,
    )  # fmt: skip


def fitted(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """How much more often a cause was right than expected, by the kind of problem."""
    factors: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        right: dict[tuple[str, str], float] = defaultdict(float)
        expected: dict[tuple[str, str], float] = defaultdict(float)
        for row in rows:
            shares = row.leaning(factors)
            hit = sum(shares.get(cause, 0.0) for cause in row.right)
            for cause, share in shares.items():
                expected[row.problem, cause] += row.weight * share
                if cause in row.right and hit:
                    right[row.problem, cause] += row.weight * share / hit
        for pair, count in expected.items():
            if pair[1] != OTHER and pair != UNSIGNED:
                factors[pair] = factors.get(pair, 1.0) * (right[pair] + PULL) / (count + PULL)
    return factors


def first(shares: Mapping[str, float]) -> tuple[float, str]:
    return max((share, cause) for cause, share in shares.items() if cause != OTHER)


@dataclass(frozen=True)
class Named:
    """The cause a log got first with its repository left out of the fit."""

    row: Row
    cause: str
    share: float
    in_three: bool

    @property
    def right(self) -> bool:
        return self.cause in self.row.right


def left_out(rows: Sequence[Row], with_factors: bool) -> list[Named]:
    found = []
    for row in rows:
        factors = fitted([other for other in rows if other.repo != row.repo]) if with_factors else {}
        shares = row.leaning(factors)
        share, cause = first(shares)
        three = sorted((s, c) for c, s in shares.items() if c != OTHER)[-3:]
        found.append(Named(row, cause, share * (1 - row.healthy), bool({c for _, c in three} & row.right)))
    return found


def report(title: str, named: Sequence[Named]) -> None:
    wrong = sum(one.share >= CONFIDENT and not one.right for one in named)
    print(
        f"\n{title}: first {sum(one.right for one in named)}/{len(named)}, among three "
        f"{sum(one.in_three for one in named)}/{len(named)}, wrong at 50 % and more {wrong}/{len(named)}\n\n"
        "| stated | logs | mean stated | right |\n|---|---|---|---|"
    )
    for low, high in pairwise(BINS):
        within = [one for one in named if low <= one.share < high]
        if within:
            mean = sum(one.share for one in within) / len(within)
            print(
                f"| {low:.0%} to {min(high, 1):.0%} | {len(within)} | {mean:.0%} | "
                f"{sum(one.right for one in within)} ({sum(one.right for one in within) / len(within):.0%}) |"
            )


def _held(named: Sequence[Named]) -> float:
    """How often causes like these were right, with a log more of each outcome."""
    return (sum(one.right for one in named) + 1) / (len(named) + 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, nargs="+")
    parser.add_argument("--write", action="store_true", help=f"write {DATA}")
    parser.add_argument("--verbose", action="store_true", help="one line a log whose first cause is wrong")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for directory in arguments.directory:
        causes = json.loads((directory / "CAUSES.json").read_text())
        for line in (directory / "index.jsonl").read_text().splitlines():
            row = json.loads(line)
            if row["confidence"] != "ambiguous" and row["labels"][0] != HEALTHY and row["id"] in causes:
                found = examine(row, directory, causes[row["id"]])
                rows += [found] if found is not None else []
    report("The ranking alone", left_out(rows, with_factors=False))
    named = left_out(rows, with_factors=True)
    report("With the factors, repository left out", named)
    top = _held([one for one in named if one.share >= BINS[-2]])
    brief = _held([one for one in named if one.row.brief])
    print(f"\nceiling {top:.2f}; of {sum(row.brief for row in rows)} logs that are too short: {brief:.2f}")
    if arguments.verbose:
        for one in sorted(named, key=lambda one: -one.share):
            if not one.right:
                print(f"{one.row.name:26}{one.cause} {one.share:.0%}, right: {', '.join(sorted(one.row.right))}")
    if not arguments.write:
        return
    factors: dict[str, dict[str, float]] = defaultdict(dict)
    for (problem, cause), factor in sorted(fitted(rows).items()):
        if abs(factor - 1) >= 0.1:
            factors[problem][cause] = round(factor, 2)
    source = f"benchmarks/logs/causes.py on {len(rows)} sick logs of {len({row.repo for row in rows})} repositories"
    logs = {
        "source": source, "other": SHARE_OF_OTHER, "ceiling": round(top, 2), "brief": round(brief, 2),
        "factors": factors,
    }  # fmt: skip
    TARGET.write_text(json.dumps({**json.loads(TARGET.read_text()), "logs": logs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
