"""How many questions the interview needs: simulated users answer from the truth about a run (users.py).

    python benchmarks/interview/score.py                  # truth sampled from what each cause is expected to show
    python benchmarks/interview/score.py --zoo RESULTS    # truth from recorded runs of the fault zoo

RESULTS is what benchmarks/zoo/make.py wrote (results.jsonl, also gzipped), or a directory of *.json files {"cause": id,
"observations": [{"id", "state"}, ...]}. Users are drawn evenly by cause; of a user whose run is of one task, the fitted
counts are taken anew from all other tasks of RESULTS. The first question, with all symptoms at once, counts as one; so
does one that got no answer.

The answer is *stable* after the question from which on the leading cause is, through all further questions of the
interview, the one that all answers to all questions together give. An interview that ends at another cause never was
stable and counts as 30."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from users import ZOO, User, from_expectations, from_zoo

from traindx.causes import causes
from traindx.engine import rank as ranking
from traindx.engine.fitted import CURVE, INSIDE, Level, levels
from traindx.engine.words import PRIOR_WEIGHT
from traindx.interview import start
from traindx.questions import questions

NEVER = 30
BINS = 5


@dataclass(frozen=True)
class Held:
    """One user's interview. `stable` and `random` are numbers of questions."""

    user: User
    stable: int
    random: int
    asked: int
    order: tuple[str, ...]
    ended: Mapping[str, float]
    complete: Mapping[str, float]

    def place(self, ranked: Mapping[str, float]) -> int:
        """Where the first right cause stands, from 0; health and the unknown are no causes."""
        named = sorted((c for c in ranked if c not in (ranking.HEALTHY, ranking.OTHER)), key=lambda c: -ranked[c])
        return min(named.index(cause) for cause in self.user.truth.right if cause in named)

    @property
    def right(self) -> bool:
        return lead(self.ended) in self.user.truth.right

    @property
    def said(self) -> float:
        """The confidence of the leading explanation at the end."""
        return max(self.ended.values())

    @property
    def weight(self) -> float:
        """How common the cause is among people who ask, against the others."""
        return PRIOR_WEIGHT[causes()[self.user.truth.cause].prior]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path, nargs="+", metavar="RESULTS", help="recorded runs instead of sampled ones")
    parser.add_argument("--users", type=int, default=2, help="simulated users per cause")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fallible", action="store_true", help="users overlook things and imagine others")
    parser.add_argument("--as-recorded", action="store_true", help="users know no more than the recorder saw")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true", help="a line a user")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    if options.zoo:
        users = from_zoo(options.zoo, options.users, chance, fallible=options.fallible, as_recorded=options.as_recorded)
    else:
        users = from_expectations(options.users, chance, fallible=options.fallible)
    began = time.process_time()
    held = list(interviews(users, options.zoo or (), chance))
    report = summary(held, (time.process_time() - began) / max(len(users), 1))
    if options.verbose:
        for one in held:
            print(line(one))
    print(table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    good = report["stable"]["median"] <= 4 and report["random"]["median"] >= 1.5 * report["stable"]["median"]
    return 0 if good else 1


def interviews(users: Sequence[User], places: Sequence[Path], chance: random.Random) -> Iterator[Held]:
    """Every user's interview, with what the other tasks taught."""
    for task in sorted({user.truth.task for user in users}):
        with taught_without(task, places):
            for user in users:
                if user.truth.task == task:
                    yield interview(user, chance)


@contextmanager
def taught_without(task: str, places: Sequence[Path]) -> Iterator[None]:
    """Counts of the other tasks in place of the fitted ones; the calibration stays."""
    if not task:
        yield
        return
    sys.path.insert(0, str(ZOO))
    from fit import count
    from labels import specimens

    known = [s for s in specimens([p for p in places if not p.is_dir()]) if s.task != task]
    fitted: dict[str, Level] = {
        name: replace(levels()[name], counts=count(known, name).counts) for name in (CURVE, INSIDE)
    }
    with mock.patch.object(ranking, "levels", return_value=fitted):
        yield


def interview(user: User, chance: random.Random) -> Held:
    complete = start()
    for identifier, value in user.answers.items():
        complete.answer(identifier, value)
    final = complete.evidence().probabilities()
    session = start()
    leads: list[str] = []
    while (question := session.question()) is not None:
        session.answer(question.id, user.answers[question.id])
        leads.append(lead(session.evidence().probabilities()))
    shuffled = [identifier for identifier in questions() if identifier != "symptoms"]
    chance.shuffle(shuffled)
    other, others = start(), []
    for identifier in ["symptoms", *shuffled]:
        other.answer(identifier, user.answers[identifier])
        others.append(lead(other.evidence().probabilities()))
    return Held(
        user, stable_after(leads, lead(final)), stable_after(others, lead(final)), len(leads), tuple(session.answers),
        session.evidence().probabilities(), final,
    )  # fmt: skip


def lead(probabilities: Mapping[str, float]) -> str:
    return max(probabilities, key=lambda cause: probabilities[cause])


def stable_after(leads: Sequence[str], final: str) -> int:
    """The number of questions after which the lead is the final one and stays so."""
    if not leads or leads[-1] != final:
        return NEVER
    place = len(leads)
    while place > 1 and leads[place - 2] == final:
        place -= 1
    return place


def summary(held: Sequence[Held], took: float) -> dict[str, Any]:
    def spread(values: Sequence[int]) -> dict[str, float]:
        ordered = sorted(values)
        return {"median": statistics.median(ordered), "mean": round(statistics.mean(ordered), 1),
                "p90": ordered[int(0.9 * (len(ordered) - 1))]}  # fmt: skip

    return {
        "users": len(held),
        **{name: spread([getattr(one, name) for one in held]) for name in ("stable", "random", "asked")},
        "ends_at_final": round(statistics.mean(one.stable < NEVER for one in held), 3),
        "evenly": shares(held, [1.0] * len(held)),
        "as_common": shares(held, [one.weight for one in held]),
        "cpu_seconds": round(took, 2),
    }


def shares(held: Sequence[Held], weights: Sequence[float]) -> dict[str, Any]:
    """How often it is right, and whether as often as it says; every user with this weight."""

    def share(values: Sequence[float]) -> float:
        return round(sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights), 3)

    bins = reliability(held, weights)
    return {
        "first": share([one.right for one in held]), "three": share([one.place(one.ended) < 3 for one in held]),
        "first_complete": share([lead(one.complete) in one.user.truth.right for one in held]),
        "three_complete": share([one.place(one.complete) < 3 for one in held]),
        "said": share([one.said for one in held]), "bins": bins,
        "calibration_error": round(sum(b["share"] * abs(b["said"] - b["right"]) for b in bins), 3),
    }  # fmt: skip


def reliability(held: Sequence[Held], weights: Sequence[float]) -> list[dict[str, float]]:
    """How often the first cause was right, by what was said of it."""
    bins: list[list[tuple[float, Held]]] = [[] for _ in range(BINS)]
    for weight, one in zip(weights, held, strict=True):
        bins[min(BINS - 1, int(one.said * BINS))].append((weight, one))
    rows = []
    for group in bins:
        total = sum(weight for weight, _ in group)
        if total:
            rows.append({
                "count": len(group), "share": total / sum(weights),
                "said": round(sum(weight * one.said for weight, one in group) / total, 3),
                "right": round(sum(weight * one.right for weight, one in group) / total, 3),
            })  # fmt: skip
    return rows


def line(one: Held) -> str:
    top = lead(one.ended)
    return (
        f"{'ok ' if one.right else 'BAD'} {one.user.truth.cause} [{one.user.truth.task}] stable {one.stable} asked "
        f"{one.asked} "
        f"ended {top} {one.ended[top]:.2f} (true {one.ended[one.user.truth.cause]:.2f}) complete {lead(one.complete)} "
        f"{one.complete[lead(one.complete)]:.2f} (true {one.complete[one.user.truth.cause]:.2f}) ticked "
        f"{' '.join(one.user.answers['symptoms'] or ())} | {' '.join(one.order)}"
    )


def table(report: Mapping[str, Any]) -> str:
    lines = [f"{report['users']} simulated users", "",
             "| questions | median | mean | 90 % |", "|---|---:|---:|---:|"]  # fmt: skip
    for label, key in (("to a stable answer, the interview's order", "stable"),
                       ("to a stable answer, random order", "random"),
                       ("asked until it stops by itself", "asked")):  # fmt: skip
        lines.append(f"| {label} | {report[key]['median']:g} | {report[key]['mean']} | {report[key]['p90']} |")
    lines += [
        "", f"It stops at the answer that all questions together give for {report['ends_at_final']:.0%}; "
            f"{report['cpu_seconds']} CPU s a user.",
        "", "| users drawn | true cause first | in three | with all questions | confidence | calibration error |",
        "|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for label, key in (("evenly by cause", "evenly"), ("as common as the causes are", "as_common")):
        row = report[key]
        lines.append(
            f"| {label} | {row['first']:.0%} | {row['three']:.0%} | {row['first_complete']:.0%}, "
            f"{row['three_complete']:.0%} | "
            f"{row['said']:.2f} | {row['calibration_error']:.3f} |"
        )
        lines.append("".join(f" {b['said']:.2f}→{b['right']:.2f} ×{b['count']}" for b in row["bins"]))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
