"""Counts what symptoms show in sound programs of other people, and calibrates the confidence of recordings on them.

    python benchmarks/wild/fit.py WORK… [--seeds 0] [--write] [--verbose]

WORK is where `run.py` kept its recordings, or a folder of recordings with a `run.json` beside each that says `cause`
and `also`. Only open programs are read, unless `--every` says that the sealed ones have been reported. How often a
symptom showed in sound ones is put beside what the zoo counted (engine/fitted.py: FalseAlarms); temperature, weight of
health and the weight of what is expected are those under which the truth was likeliest. Every figure printed is of
programs whose whole repository was left out. From the same answers come what a probability of health means
(engine/health.py: Counted) and how often a cause was right that was not seen itself. `--write` puts all of it into
src/traindx/engine/fitted.json."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

os.environ.setdefault("TRAINDX_CASES", "off")

import numpy as np
from score import SURE, Case, Outcome, cases, told_apart

from traindx.diagnosis import Observation
from traindx.engine import decide
from traindx.engine.evidence import Evidence, gather
from traindx.engine.fitted import DATA, INSIDE, FalseAlarms, Level, level_of, levels
from traindx.engine.health import Counted
from traindx.engine.rank import HEALTHY, OTHER, Ranked, rank, seen_itself
from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.signals.disguise import unmasked
from traindx.symptoms import symptoms

FITTED = Path(__file__).resolve().parents[2] / "src" / "traindx" / "engine" / DATA
COMMAND = "python benchmarks/wild/fit.py WORK --write"
PARTS = 5  # groups of repositories
MIN_KNOWN = 10  # programs in which a symptom could be measured
FEW = 0.5  # false alarms expected beside those counted, of one that the background rates expect
VERY_SURE = 0.8
PROBABLE = 1e-3  # no answer is punished for less than this
WEIGHTS = (5.0, 10.0, 20.0, 40.0)  # of what is expected of a symptom, in programs
MUCH_THE_SAME = 0.01  # surprise: of weights that differ by no more the smallest, which leaves most to the counts
INFERRED_SURE = 0.75  # a cause that was not seen itself and is this likely
GROUP = 10  # recordings, by what health was given
TEMPERATURES = (0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.6, 2.0)
HEALTH = (-1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Page:
    """One recording: what was seen, and what is true."""

    repository: str
    name: str
    kind: str  # sound, damaging, harmless
    right: frozenset[str]
    evidence: Evidence
    of_others: bool = True  # a program of other people: only their false alarms are counted

    @property
    def known(self) -> list[Observation]:
        return [one for one in self.evidence.observations if one.state != "unknown"]

    def ranked(self, level: Level) -> list[Ranked]:
        at = self.evidence
        return rank(self.known, at.hints, unfamiliar=at.unfamiliar, training=at.training, level=level)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=(0,))
    parser.add_argument("--every", action="store_true", help="sealed programs too")
    parser.add_argument("--meaning", action="store_true", help="only what the probabilities mean, all else as it is")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    found = [case for work in given.work for case in cases(work, given.seeds)]
    kept = [case for case in told_apart(found) if case.kind in ("sound", "damaging", "harmless")]
    kept = [case for case in kept if given.every or not case.sealed]
    kept += [case for work in given.work for case in labelled(work)]
    with ProcessPoolExecutor(given.jobs) as pool:
        pages = [page for some in pool.map(read, kept, chunksize=4) for page in some]
    pages = [page for page in pages if level_of(page.evidence.observations) == INSIDE]
    print(f"{len(pages)} recordings of {len({page.repository for page in pages})} repositories")
    print("as it is: ", figures([(page, page.ranked(levels()[INSIDE])) for page in pages]))
    if given.meaning:
        level = meaning(pages)
        print("with what they mean:", figures([(page, page.ranked(level)) for page in pages]))
        if given.write:
            write(level)
        return
    by_weight = {weight: left_out(pages, weight) for weight in WEIGHTS}
    surprises = {weight: truth_missed(answers) for weight, answers in by_weight.items()}
    print("surprise by weight:", {weight: round(value, 4) for weight, value in surprises.items()})
    weight = min(one for one, value in surprises.items() if value <= min(surprises.values()) + MUCH_THE_SAME)
    answers = by_weight[weight]
    print("left out: ", figures(answers, given.verbose))
    level = replace(fit(pages, weight), inferred=inferred(answers), health=health(answers))
    print("all:      ", figures([(page, page.ranked(level)) for page in pages]))
    print(f"temperature {level.temperature}, healthy {level.healthy}, shares {_alarms(level).share}")
    for name, (known, present) in sorted(_alarms(level).counts.items(), key=lambda pair: -pair[1][1]):
        if present and symptoms()[name].severity == "problem":
            print(f"  {name}: {present} of {known} sound programs")
    if given.write:
        write(level)


def labelled(folder: Path) -> Iterable[Case]:
    """Scripts with one known fault, or none, each a repository of its own."""
    for place in sorted(folder.glob("*/run.json")):
        about = {"also": (), "cause": HEALTHY, **json.loads(place.read_text())}
        about |= {"repository": f"{folder}/{place.parent.name}", "sealed": False}
        kind = "sound" if about["cause"] == HEALTHY else "damaging"
        yield Case(place.parent.name, place.parent.name, (Outcome(place.parent, about),), kind=kind)


def read(case: Case) -> list[Page]:
    pages = []
    for run in case.runs:
        try:
            signals = unmasked(Signals(find_runs([run.place / "recording"])[0]))
        except TraindxError:
            continue
        wanted = {run.about["cause"], *run.about["also"]}
        right = {"sound": {HEALTHY}, "harmless": {HEALTHY, *wanted}, "damaging": wanted}[case.kind]
        name = f"{case.program}/{case.name}"
        others = case.program != case.name
        pages.append(Page(run.about["repository"], name, case.kind, frozenset(right), gather(signals), others))
    return pages


def meaning(pages: Sequence[Page]) -> Level:
    """What the probabilities of the level as it is turned out to mean."""
    level = levels()[INSIDE]
    plain = replace(level, inferred=level.ceiling, health=None)
    answers = [(page, page.ranked(plain)) for page in pages]
    told = replace(level, inferred=inferred(answers), health=health(answers))
    print(f"inferred {told.inferred:.3f}, {told.health}")
    repositories = sorted({page.repository for page in pages})
    lost = {"as given": 0.0, "as counted, repositories left out": 0.0}
    for index in range(PARTS):
        part = set(repositories[index::PARTS])
        table = health([one for one in answers if one[0].repository not in part])
        for page, ranked in answers:
            if page.repository in part and page.kind != "harmless":
                given = next(one.probability for one in ranked if one.cause == HEALTHY)
                for name, said in zip(lost, (given, table.probability(given)), strict=True):
                    right = said if page.kind == "sound" else 1 - said
                    lost[name] -= math.log(max(right, PROBABLE)) / len(answers)
    print("surprise of health:", {name: round(value, 4) for name, value in lost.items()})
    return told


def health(answers: Sequence[tuple[Page, list[Ranked]]]) -> Counted:
    """Of harmless changes nobody can say whether they are sound."""
    given = [
        (next(one.probability for one in ranked if one.cause == HEALTHY), page.kind == "sound")
        for page, ranked in answers
        if page.kind != "harmless"
    ]
    return Counted.of(given, GROUP)


def inferred(answers: Sequence[tuple[Page, list[Ranked]]]) -> float:
    """How often a likely cause that was not seen itself was right."""
    firsts = [
        (page, next(one for one in ranked if one.cause not in (HEALTHY, OTHER)))
        for page, ranked in answers
        if page.kind != "harmless"
    ]
    sure = [
        first.cause in page.right
        for page, first in firsts
        if first.probability >= INFERRED_SURE and not seen_itself(first.cause, page.known)
    ]
    print(f"causes that were not seen themselves, {INFERRED_SURE:g} and more: {sum(sure)} of {len(sure)} right")
    return (sum(sure) + 0.5) / (len(sure) + 1)


def truth_missed(answers: Sequence[tuple[Page, list[Ranked]]]) -> float:
    """How improbable the truth was; sound and faulty programs weigh the same."""
    totals: dict[bool, list[float]] = {True: [], False: []}
    for page, ranked in answers:
        truth = sum(one.probability for one in ranked if one.cause in page.right)
        totals[page.kind == "sound"].append(-math.log(max(truth, PROBABLE)))
    return sum(sum(some) / max(len(some), 1) for some in totals.values())


def fit(pages: Sequence[Page], weight: float) -> Level:
    """What the zoo fitted, with the false alarms of these sound programs and a calibration on all of these pages."""
    level = levels()[INSIDE]
    alarms = replace(counted(pages), weight=weight)
    level = replace(level, false_alarms=alarms, temperature=1.0, healthy=0.0, inferred=level.ceiling, health=None)
    weighed = [(page, page.ranked(level)) for page in pages]
    temperature, healthy = min(product(TEMPERATURES, HEALTH), key=lambda pair: surprise(weighed, *pair))
    return replace(level, temperature=temperature, healthy=healthy)


def counted(pages: Iterable[Page]) -> FalseAlarms:
    """Sound pages in which a symptom could be measured and in which it was there; a program's seeds are one."""
    programs: dict[str, dict[str, bool]] = {}
    for page in pages:
        if page.kind == "sound" and page.of_others:
            seen = programs.setdefault(page.name, {})
            for one in page.known:
                seen[one.id] = seen.get(one.id, False) or one.state == "present"
    counts: dict[str, tuple[int, int]] = {}
    for seen in programs.values():
        for name, present in seen.items():
            before = counts.get(name, (0, 0))
            counts[name] = (before[0] + 1, before[1] + present)
    table = symptoms()
    counts = {name: pair for name, pair in counts.items() if name in table and table[name].severity == "problem"}
    share = {}
    for kind in ("curve", "direct"):
        of_kind = [(name, pair) for name, pair in counts.items() if table[name].kind == kind]
        expected = sum(known * table[name].background for name, (known, _) in of_kind)
        share[kind] = (FEW + sum(present for _, (_, present) in of_kind)) / (1 + expected)
    return FalseAlarms({name: pair for name, pair in counts.items() if pair[0] >= MIN_KNOWN or pair[1]}, share)


def surprise(weighed: Sequence[tuple[Page, list[Ranked]]], temperature: float, healthy: float) -> float:
    """How improbable the truth was, on average; sound and faulty programs weigh the same."""
    totals: dict[bool, list[float]] = {True: [], False: []}
    for page, ranked in weighed:
        weights = np.array([(one.log_weight + healthy * (one.cause == HEALTHY)) / temperature for one in ranked])
        chances = np.exp(weights - weights.max())
        truth = sum(chance for chance, one in zip(chances, ranked, strict=True) if one.cause in page.right)
        totals[page.kind == "sound"].append(-math.log(max(float(truth / chances.sum()), PROBABLE)))
    return sum(sum(some) / max(len(some), 1) for some in totals.values())


def left_out(pages: Sequence[Page], weight: float) -> list[tuple[Page, list[Ranked]]]:
    repositories = sorted({page.repository for page in pages})
    answers = []
    for index in range(PARTS):
        part = set(repositories[index::PARTS])
        level = fit([page for page in pages if page.repository not in part], weight)
        answers += [(page, page.ranked(level)) for page in pages if page.repository in part]
    return answers


def figures(answers: Sequence[tuple[Page, list[Ranked]]], verbose: bool = False) -> str:
    counts = {"sound": [0, 0, 0], "damaging": [0, 0, 0], "harmless": [0, 0, 0]}
    sure, said = 0, []
    for page, ranked in answers:
        verdict = decide(page.evidence.observations, ranked)
        first = next(one for one in ranked if one.cause not in (HEALTHY, OTHER))
        right, ill = first.cause in page.right, verdict == "unhealthy"
        alarm = ill and (page.kind == "sound" or first.probability >= SURE)
        hit, miss = (ill and right, verdict == "healthy") if page.kind == "damaging" else (verdict == "healthy", alarm)
        counts[page.kind] = [a + b for a, b in zip(counts[page.kind], (1, hit, miss), strict=True)]
        sure += ill and not right and first.probability >= VERY_SURE
        if ill and page.kind != "harmless":
            said.append((first.probability, right))
        if verbose and not hit and page.kind != "harmless":
            print(f"  {_line(page, verdict, ranked)}")
    return (
        "sound healthy {1}/{0} unhealthy {2}/{0}".format(*counts["sound"])
        + "; damaging first {1}/{0} healthy {2}/{0}".format(*counts["damaging"])
        + "; harmless unhealthy and sure {2}/{0}".format(*counts["harmless"])
        + f"; wrong at 80 % and more {sure}/{len(answers)}; calibration error {_error(said):.2f}"
    )


def _line(page: Page, verdict: str, ranked: Sequence[Ranked]) -> str:
    first = " ".join(f"{one.cause} {one.probability:.2f}" for one in ranked[:3])
    shown = [f"{one.id} {one.clarity:.1f}" for one in page.known if one.state == "present"]
    return f"{page.name} {page.kind} {verdict}: {first}; {shown}"


def _error(said: Sequence[tuple[float, bool]]) -> float:
    bins = [[p - right for p, right in said if min(int(p * 10), 9) == place] for place in range(10)]
    return sum(abs(sum(some)) for some in bins) / max(len(said), 1)


def _alarms(level: Level) -> FalseAlarms:
    assert level.false_alarms is not None
    return level.false_alarms


def write(level: Level) -> None:
    data = json.loads(FITTED.read_text())
    known = data["levels"][INSIDE]
    data["levels"][INSIDE] = level.to_json() | {"reliability": known["reliability"]}
    data["false_alarms"] = COMMAND
    FITTED.write_text(json.dumps(data, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    sys.exit(main())
