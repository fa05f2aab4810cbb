"""Whether two versions of traindx say the same of the same trainings.

    python benchmarks/zoo/agree.py BEFORE AFTER [--level live] [--verbose]

BEFORE and AFTER are results.jsonl (or .gz) that make.py of each version wrote with the same seed. Both are ranked with
the counts of this version, so that only what was measured and judged differs. Printed: the share of specimens with the
same verdict and the same first cause, and how often each symptom changed its state. Trainings are recorded as time
allows, so a version does not agree with itself on all of them either: run one version twice to know by how much."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from labels import Specimen, specimens

from traindx.engine import judge
from traindx.engine.rank import OTHER, rank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--level", default="live", choices=("curve", "live", "probes"))
    parser.add_argument("--verbose", action="store_true", help="name every specimen that differs")
    arguments = parser.parse_args()
    before = {one.spec["name"]: one for one in specimens([arguments.before])}
    after = {one.spec["name"]: one for one in specimens([arguments.after])}
    level = arguments.level
    both = [name for name in before if name in after and all(level in one[name].evidence for one in (before, after))]
    same_verdict = same_cause = same = 0
    changed: Counter[tuple[str, str]] = Counter()
    for name in both:
        old, new = (answer(one[name], level) for one in (before, after))
        same_verdict += old[0] == new[0]
        same_cause += old[1] == new[1]
        same += old == new
        differences = list(changes(before[name], after[name], level))
        changed.update(differences)
        if arguments.verbose and old != new:
            print(f"{name} ({', '.join(before[name].causes) or 'healthy'}): {old} -> {new}")
            print(f"    {'; '.join(f'{symptom} {how}' for symptom, how in differences)}")
    count = max(len(both), 1)
    print(f"{len(both)} specimens, {level}")
    for what, number in (("verdict", same_verdict), ("first cause", same_cause), ("both", same)):
        print(f"same {what}: {number} ({100 * number / count:.1f} %)")
    for (symptom, how), number in changed.most_common():
        print(f"{number:5d}  {symptom} {how}")


def answer(specimen: Specimen, level: str) -> tuple[str, str]:
    """Verdict and first cause, as the page has them."""
    observations = specimen.observations(level)
    ranked = rank(observations, specimen.hints(level), unfamiliar=specimen.evidence[level]["unfamiliar"])
    return judge(observations, ranked), next(entry.cause for entry in ranked if entry.cause != OTHER)


def changes(before: Specimen, after: Specimen, level: str) -> list[tuple[str, str]]:
    """Symptoms whose state differs, with how."""
    states = [{one.id: one.state for one in specimen.observations(level)} for specimen in (before, after)]
    found = []
    for symptom in sorted({*states[0], *states[1]}):
        old, new = (one.get(symptom, "unknown") for one in states)
        if old != new:
            found.append((symptom, f"{old} -> {new}"))
    return found


if __name__ == "__main__":
    main()
