"""Says how traindx judged the programs that `run.py` ran: sound, with a fault that does damage, and with a change that
does none.

    python benchmarks/wild/score.py WORK… [--judge] [--jobs 2] [--verbose] [--side open] [--by repository|fault|cause]

The pages are those of the day on which a case was recorded; `--judge` reads the kept recordings with this traindx
instead. Of a sealed program nothing is shown but its share in the figures, `--verbose` or not.

A mutant is *damaging* where it differs from its sound program in both seeds, in one direction, by a tenth and by more
than the two seeds of the sound program differ: in the error that trials measure on validation and training batches, or
in the result that the program itself prints; or where it ends the training by an exception. It is *harmless* where it
does not. One that does not reach its first update is left out."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cases import SOUND
from once import judged

from traindx.trials.judge import LOST, MAX_EFFECT, MIN_EFFECT
from traindx.trials.measure import KINDS, Measured, Metric

SEEDS = (0, 1)
SURE = 0.5  # a probability of the first cause from which an answer counts as given with confidence
VERY_SURE = 0.9
NEAR = 1  # lines beside the changed ones that a page may name
PLACE = re.compile(r"([\w.\-]+\.py):(\d+)")


@dataclass(frozen=True)
class Outcome:
    """One run of a case: what `run.json` says."""

    place: Path
    about: dict[str, Any]

    @property
    def page(self) -> dict[str, Any]:
        return self.about.get("page") or {"verdict": "none", "hypotheses": [], "symptoms": []}

    @cached_property
    def measured(self) -> Measured | None:
        return Measured.read(self.place / "recording")

    @property
    def started(self) -> bool:
        """Whether a parameter was ever updated."""
        return self.about["code"] == 0 or (self.measured is not None and self.measured.steps > 0)

    @property
    def ranking(self) -> list[tuple[str, float]]:
        return [
            (h["cause"], h["confidence"]) for h in self.page["hypotheses"] if h["cause"] not in ("healthy", "other")
        ]

    @property
    def confidence(self) -> float:
        return self.ranking[0][1] if self.ranking else 0.0

    @property
    def unhealthy(self) -> bool:
        return self.page["verdict"] == "unhealthy"

    def right(self, within: int) -> bool:
        wanted = {self.about["cause"], *self.about["also"]}
        return self.unhealthy and bool(wanted & {cause for cause, _ in self.ranking[:within]})

    @property
    def names_line(self) -> bool:
        """Whether the page points at the changed lines, in what it says of the first cause or in a symptom that is
        present."""
        first = self.page["hypotheses"][:1]
        shown = json.dumps([*first, *(s for s in self.page["symptoms"] if s["state"] == "present")])
        name = Path(self.about["file"]).name
        lines = self.about["lines"]
        return any(
            file == name and any(abs(int(line) - at) <= NEAR for at in lines) for file, line in PLACE.findall(shown)
        )


@dataclass(frozen=True)
class Case:
    program: str
    name: str
    runs: tuple[Outcome, ...]  # a seed each
    bare: tuple[Outcome, ...] = ()
    kind: str = ""  # sound, damaging, harmless, broken

    @property
    def about(self) -> dict[str, Any]:
        return self.runs[0].about

    @property
    def sealed(self) -> bool:
        return bool(self.about["sealed"])


def cases(work: Path, seeds: Sequence[int] = SEEDS) -> Iterator[Case]:
    """Those of which all seeds are there."""
    for folder in sorted((work / "kept").glob("*/*")):
        runs, bare = (
            tuple(
                Outcome(place, json.loads((place / "run.json").read_text()))
                for seed in seeds
                if (place := folder / f"{prefix}{seed}") and (place / "run.json").exists()
            )
            for prefix in ("", "bare-")
        )
        if len(runs) == len(seeds):
            yield Case(folder.parent.name, folder.name, runs, bare)


def told_apart(found: Iterable[Case]) -> list[Case]:
    """Every case with its kind; programs that do not run under the recorder are kept as they are, and their mutants are
    left out."""
    by_program: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in found:
        by_program[case.program][case.name] = case
    kept = []
    for group in by_program.values():
        sound = group.get(SOUND)
        if sound is None:
            continue
        kept.append(replace(sound, kind="sound"))
        if any(run.about["code"] for run in sound.runs):
            continue
        kept += [replace(case, kind=_kind(sound, case)) for name, case in group.items() if name != SOUND]
    return kept


def _kind(sound: Case, mutant: Case) -> str:
    if not all(run.started for run in mutant.runs):
        return "broken"
    if all(run.about["code"] for run in mutant.runs):
        return "damaging"
    return "damaging" if any(_differs(pairs) for pairs in _measures(sound, mutant)) else "harmless"


def _measures(sound: Case, mutant: Case) -> Iterator[list[tuple[float, float]]]:
    """Pairs of sound and mutated, a seed each, by everything that both were measured by; less is better or more is, as
    it comes."""
    results = [
        (before.about["result"], after.about["result"]) for before, after in zip(sound.runs, mutant.runs, strict=True)
    ]
    if all(before is not None for before, _ in results):
        yield [(before, math.inf if after is None else after) for before, after in results]
    measured = [(before.measured, after.measured) for before, after in zip(sound.runs, mutant.runs, strict=True)]
    for split in ("val", "train"):
        for kind in KINDS:
            metric = Metric(split, kind)
            pairs = []
            for before, after in measured:
                if before is None or after is None:
                    continue
                # what chance reaches bounds it: beyond that, nothing was learnt, however large the error is
                limit = LOST * before.chance(metric) if math.isfinite(before.chance(metric)) else math.inf
                values = [max(min(one.value(metric), limit), metric.floor) for one in (before, after)]
                if not any(math.isnan(value) for value in values):
                    pairs.append((values[0], values[1]))
            if len(pairs) == len(measured):
                yield pairs


def _differs(pairs: list[tuple[float, float]]) -> bool:
    """By a tenth in both seeds, in one direction, and by more than the seeds of the sound program differ."""
    sizes = [_size(before, after) for before, after in pairs]
    scatter = abs(_size(pairs[0][0], pairs[-1][0]))
    return (min(sizes) > 0) == (max(sizes) > 0) and min(map(abs, sizes)) >= max(MIN_EFFECT, scatter)


def _size(before: float, after: float) -> float:
    if before == after:
        return 0.0
    if not math.isfinite(before) or not math.isfinite(after) or before <= 0 or after <= 0:
        if math.isfinite(before) and math.isfinite(after):  # a result may be below zero: by the larger of the two
            return (after - before) / max(abs(before), abs(after))
        return MAX_EFFECT if not math.isfinite(after) else -MAX_EFFECT
    return max(-MAX_EFFECT, min(MAX_EFFECT, math.log(after / before)))


# --- the figures
# -------------------------------------------------------------------------------------------------------------


def row(title: str, some: list[Case]) -> str:
    """Every seed is a page and counts by itself."""
    pages = {
        kind: [run for case in some if case.kind == kind for run in case.runs]
        for kind in ("sound", "damaging", "harmless")
    }
    sound, damaging, harmless = pages["sound"], pages["damaging"], pages["harmless"]
    sure = [run for run in [*sound, *damaging, *harmless] if run.unhealthy and run.confidence >= VERY_SURE]
    cells = [
        title,
        f"{len({case.program for case in some})}",
        _share(sound, lambda run: run.page["verdict"] == "healthy"),
        _share(sound, lambda run: run.unhealthy),
        _share(damaging, lambda run: run.unhealthy),
        _share(damaging, lambda run: run.right(1)),
        _share(damaging, lambda run: run.right(3)),
        _share([run for run in damaging if run.about["file"]], lambda run: run.names_line),
        _share(damaging, lambda run: run.page["verdict"] == "healthy"),
        _share(harmless, lambda run: run.unhealthy and run.confidence >= SURE),
        _share(sure, lambda run: run.right(1)),
        f"{error(sound + damaging):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| | programs | sound called healthy | sound called unhealthy | damaging called unhealthy | right cause first | in "
    "three | right line | "
    "damaging called healthy | harmless called unhealthy, 50 % sure | right where 90 % sure | calibration error |\n"
    + "|---" * 12
    + "|"
)


def _share(some: list[Outcome], holds: Callable[[Outcome], bool]) -> str:
    return f"{sum(map(holds, some))}/{len(some)}"


def error(some: list[Outcome]) -> float:
    """Expected calibration error of the first cause where a run is called unhealthy, in ten bins."""
    said = [(run.confidence, run.right(1)) for run in some if run.unhealthy]
    total = 0.0
    for place in range(10):
        inside = [pair for pair in said if min(int(pair[0] * 10), 9) == place]
        if inside:
            total += len(inside) * abs(np.mean([p for p, _ in inside]) - np.mean([right for _, right in inside]))
    return float(total / len(said)) if said else math.nan


def cost(some: list[Case]) -> str:
    """Recorded beside bare, sound programs that ran to their end both ways; the seeds of a program are added up
    first."""
    ratios, memory = [], []
    for case in some:
        if (
            case.kind == "sound"
            and len(case.bare) == len(case.runs)
            and not any(run.about["code"] for run in (*case.runs, *case.bare))
        ):
            ratios.append(sum(run.about["cpu"] for run in case.runs) / sum(run.about["cpu"] for run in case.bare))
            memory.append(
                max(run.about["peak_mb"] for run in case.runs) - max(run.about["peak_mb"] for run in case.bare)
            )
    if not ratios:
        return "no sound program ran both ways"
    return (
        f"{len(ratios)} sound programs, whole process: CPU time with the recorder / without: median "
        f"{np.median(ratios):.3f}, 90 % of them below "
        f"{np.quantile(ratios, 0.9):.3f}; peak memory {np.median(memory):+.0f} MB in the median, {max(memory):+.0f} MB "
        f"at most"
    )


def _again(place: Path) -> dict[str, Any] | None:
    return judged(place / "recording")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="Cases that ran with all of these.")
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--side", choices=("open", "sealed"))
    parser.add_argument("--by", choices=("repository", "fault", "cause"))
    parser.add_argument("--verbose", action="store_true", help="Every page of the open programs, a line each.")
    given = parser.parse_args()
    found = told_apart(case for work in given.work for case in cases(work, given.seeds))
    found = [case for case in found if given.side is None or case.sealed == (given.side == "sealed")]
    if given.judge:
        runs = [run for case in found for run in case.runs]
        with ProcessPoolExecutor(given.jobs) as pool:
            for run, page in zip(runs, pool.map(_again, [run.place for run in runs], chunksize=8), strict=True):
                run.about["page"] = page
    counts = {kind: sum(case.kind == kind for case in found) for kind in ("sound", "damaging", "harmless", "broken")}
    died = [case for case in found if case.kind == "sound" and any(run.about["code"] for run in case.runs)]
    print(
        f"{counts['sound']} programs of {len({case.about['repository'] for case in found})} repositories, "
        f"{counts['damaging'] + counts['harmless']} mutants: {counts['damaging']} damaging, {counts['harmless']} "
        f"harmless; "
        f"{counts['broken']} more that do not reach an update; {len(died)} programs that the recorder ends\n"
    )
    print(HEAD)
    for side in ("open", "sealed"):
        print(row(side, [case for case in found if case.sealed == (side == "sealed")]))
    print(row("all", found))
    print(f"\n{cost(found)}")
    if given.by:
        groups: dict[str, list[Case]] = defaultdict(list)
        for case in found:
            groups[
                {"repository": case.about["repository"], "fault": case.name, "cause": case.about["cause"]}[given.by]
            ].append(case)
        print(f"\n{HEAD}")
        for name, group in sorted(groups.items()):
            print(row(name, group))
    if given.verbose:
        print()
        for case in found:
            for run in case.runs if not case.sealed else ():
                seen = [s["id"] for s in run.page["symptoms"] if s["state"] == "present"]
                first = [f"{cause} {share:.2f}" for cause, share in run.ranking[:3]]
                good = run.right(1) if case.kind == "damaging" else run.page["verdict"] == "healthy"
                print(
                    f"{'ok' if good else 'XX'} {case.program}/{case.name}/{run.about['seed']} {case.kind} "
                    f"{run.page['verdict']} {first} {seen}"
                )


if __name__ == "__main__":
    main()
