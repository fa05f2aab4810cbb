"""Counts what symptoms show in trainings of language models and of policies, and scores the ranking with these counts
on styles that were left out.

    python benchmarks/lm_zoo/fit.py FOLDER… [--also LABELLED…] [--write] [--verbose]

FOLDER has `labels.jsonl` (id, cause, alternatives, style, kind of fault) and a recording ID/_out or ID.traindx for each
line, as benchmarks/rl_zoo/make.py makes them. What is counted stands beside the counts of benchmarks/zoo in
src/traindx/engine/fitted_tasks.json: how often each symptom showed under each cause, and in which share of the sound
kinds it did. `--also` are labelled scripts that are scored with all counts and give none."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("TRAINDX_CASES", "off")

import numpy as np

from traindx.engine import decide
from traindx.engine.evidence import Evidence, gather
from traindx.engine.fitted import INSIDE, TASKS, Level, level_of, untasked, with_tasks
from traindx.engine.rank import HEALTHY, OTHER, rank
from traindx.readers.find import find_runs
from traindx.signals import Signals
from traindx.signals.disguise import unmasked
from traindx.symptoms import symptoms

OUT = Path(__file__).resolve().parents[2] / "src" / "traindx" / "engine" / TASKS
SETTING = "setting"
SURE = 0.9


@dataclass(frozen=True)
class Page:
    name: str
    style: str
    group: str  # what is one and the same program, with other seeds
    causes: frozenset[str]
    truth: str
    evidence: Evidence


def pages(folders: Iterable[Path]) -> list[Page]:
    found = []
    for folder in folders:
        for line in (folder / "labels.jsonl").read_text().splitlines():
            row = json.loads(line)
            places = [folder / row["id"] / "_out", folder / f"{row['id']}.traindx"]
            place = next((one for one in places if one.exists()), None)
            runs = find_runs([place]) if place is not None and any(place.glob("rank-*.jsonl")) else []
            if runs:
                truth = row["cause"] or HEALTHY
                group = f"{row.get('style')}/{row.get('fault', row['id'])}"
                causes = frozenset({truth, *row["alternatives"]})
                evidence = gather(unmasked(Signals(runs[0])))
                found.append(Page(row["id"], str(row.get("style")), group, causes, truth, evidence))
    return found


def counted(found: Sequence[Page]) -> dict[str, dict[str, tuple[int, int]]]:
    """By cause: how often each symptom could be told, and how often it was there. Sound programs count once each."""
    kinds = {one.id: one.kind for one in symptoms().values()}
    known: dict[str, Counter[str]] = defaultdict(Counter)
    present: dict[str, Counter[str]] = defaultdict(Counter)
    met: dict[tuple[str, str], bool] = {}
    for page in found:
        for one in page.evidence.observations:
            if one.state == "unknown" or kinds[one.id] == SETTING:
                continue
            if page.truth == HEALTHY:
                key = (page.group, one.id)
                met[key] = met.get(key, False) or one.state == "present"
            else:
                known[page.truth][one.id] += 1
                present[page.truth][one.id] += one.state == "present"
    for (_, symptom), there in met.items():
        known[HEALTHY][symptom] += 1
        present[HEALTHY][symptom] += there
    return {cause: {name: (n, present[cause][name]) for name, n in row.items()} for cause, row in known.items()}


def ceiling(answers: Sequence[tuple[Page, str, list[tuple[str, float]]]]) -> tuple[float, int]:
    """How many pages of language models that are sure of health are of sound trainings, with as much weight on sound
    ones as on faulty ones; and how many there are."""
    spoken = [(page.truth == HEALTHY, dict(ranked)[HEALTHY] >= SURE) for page, _, ranked in answers if _speaks(page)]
    sound, faulty = ([sure for is_sound, sure in spoken if is_sound is kind] for kind in (True, False))
    shares = [sum(one) / len(one) for one in (sound, faulty)]
    return shares[0] / (shares[0] + shares[1]), sum(sound) + sum(faulty)


def _speaks(page: Page) -> bool:
    return page.evidence.healthy_at_most < 1


def judged(page: Page, level: Level) -> tuple[str, list[tuple[str, float]]]:
    seen = [one for one in page.evidence.observations if one.state != "unknown"]
    at = level if level_of(seen) == INSIDE else None
    evidence = page.evidence
    ranked = rank(seen, evidence.hints, unfamiliar=evidence.unfamiliar, level=at, training=evidence.training)
    verdict = decide(evidence.observations, ranked)
    return verdict, [(one.cause, one.probability) for one in ranked]


def score(title: str, answers: Sequence[tuple[Page, str, list[tuple[str, float]]]], verbose: bool) -> None:
    total: Counter[str] = Counter()
    for page, verdict, ranked in answers:
        causes = [cause for cause, _ in ranked if cause not in (HEALTHY, OTHER)]
        top, confidence = ranked[0]
        if page.truth == HEALTHY:
            total.update(sound=1, alarms=verdict == "unhealthy", open=verdict == "inconclusive")
            good = verdict == "healthy"
        else:
            good = causes[0] in page.causes and verdict != "healthy"
            three = bool(set(causes[:3]) & page.causes) and verdict != "healthy"
            total.update(faulty=1, first=good, three=three, healthy=verdict == "healthy")
            total.update(ill=verdict == "unhealthy")
        if verdict == "unhealthy" and confidence >= 0.8 and top not in (*page.causes, OTHER):
            total.update(sure_and_wrong=1)
        if verbose and not good:
            shown = ", ".join(f"{cause} {chance:.2f}" for cause, chance in ranked[:3])
            print(f"   {page.name:38} {page.truth:28} {verdict:13} {shown}")
    sound, faulty = total["sound"], total["faulty"]
    print(
        f"{title:34} faulty {faulty:4} first {total['first']:4} in three {total['three']:4} unhealthy {total['ill']:4} "
        f"healthy {total['healthy']:3} sure and wrong {total['sure_and_wrong']:2} | sound {sound:3} "
        f"alarms {total['alarms']:2} open {total['open']:2}"
    )


def reliability(answers: Sequence[tuple[Page, str, list[tuple[str, float]]]]) -> None:
    """What P(healthy) meant, with as much weight on sound pages as on faulty ones."""
    chances = np.array([dict(ranked)[HEALTHY] for _, _, ranked in answers])
    sound = np.array([page.truth == HEALTHY for page, _, _ in answers])
    weights = np.where(sound, 0.5 / max(sound.sum(), 1), 0.5 / max((~sound).sum(), 1))
    error = 0.0
    for low, high in ((0, 0.1), (0.1, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 0.97), (0.97, 1.01)):
        inside = (chances >= low) & (chances < high)
        if inside.any():
            said, was = (float(np.average(one[inside], weights=weights[inside])) for one in (chances, sound))
            error += weights[inside].sum() * abs(said - was)
            print(
                f"   P(healthy) {low:.2f} to {min(high, 1):.2f}: {inside.sum():4} pages, said {said:.2f}, "
                f"were {was:.2f}"
            )
    print(f"   calibration error {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--also", type=Path, nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    found = pages(asked.folders)
    plain = untasked()[INSIDE]
    score("without these counts", [(page, *judged(page, plain)) for page in found], False)
    answers = []
    for style in sorted({page.style for page in found}):
        level = with_tasks(plain, counted([page for page in found if page.style != style]))
        mine = [(page, *judged(page, level)) for page in found if page.style == style]
        score(f"left out: {style}", mine, asked.verbose)
        answers += mine
    score("all styles, each left out", answers, False)
    reliability(answers)
    level = with_tasks(plain, counted(found))
    for folder in asked.also:
        others = pages([folder])
        score(f"{folder.name}, without", [(page, *judged(page, plain)) for page in others], False)
        score(f"{folder.name}, with all counts", [(page, *judged(page, level)) for page in others], asked.verbose)
    share, sure = ceiling(answers)
    print(f"of {sure} pages of language models that are sure of health {share:.3f} are sound")
    if asked.write:
        write(found, share, sure)


def write(found: Sequence[Page], share: float, sure: int) -> None:
    counts = counted(found)
    names = sorted({name for row in counts.values() for name in row})
    data = {
        "schema": "traindx.fitted-tasks/1",
        "command": "python benchmarks/lm_zoo/fit.py FOLDER --write",
        "specimens": len(found),
        "healthy_without_outcome": round(share, 3),
        "sure_of_health": sure,
        "symptoms": names,
        "known": {cause: [row.get(name, (0, 0))[0] for name in names] for cause, row in sorted(counts.items())},
        "present": {cause: [row.get(name, (0, 0))[1] for name in names] for cause, row in sorted(counts.items())},
    }
    OUT.write_text(json.dumps(data, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
