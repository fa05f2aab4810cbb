"""Counts for how many mutants of other people's programs an edit is found, given the cause and the line. Nothing runs.

    python benchmarks/repair/edits.py --recipes DIR --prepared DIR [--only PROGRAM/CASE…] [--verbose]

The mutants are those of `benchmarks/wild`; `--prepared` holds the programs as its `run.py --prepare` lays them out.
*The original* is an edit that gives the file as it was before the fault; another one may be as good (a rate that is
scaled, a call in another place) or not, which only trials tell."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "wild"))
from cases import Case, cases_of
from recipe import load

from traindx.causes import causes
from traindx.fixes import fixes
from traindx.trials.editing import Evidence, edited
from traindx.trials.setting import combined

STATED = {"{steps}": "500", "{warmup}": "25"}  # what a trial would fill in


def outcome(case: Case, place: Path) -> tuple[str, str]:
    """'original', 'another' or 'none', and the changed lines."""
    assert case.mutator is not None
    cause, found = case.mutator.cause, ("none", "")
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "program"
        for file in place.rglob("*.py"):
            to = copy / file.relative_to(place)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)
        case.write(copy)
        root = copy / (case.recipe.folder or "")
        script = next(root / word for word in case.command if word.endswith(".py"))
        evidence = Evidence(lines={cause: (Path(case.file).name, case.lines[0])})
        for text in [text for fix in causes()[cause].fixes for text in fixes()[fix].tries]:
            for name, value in STATED.items():
                text = text.replace(name, value)
            edits = edited(root, script, combined(text), evidence) or {}
            rows = [row for name, new in edits.items() for row in _rows((root / name).read_text(), new)]
            whole = {(root / name).resolve(): new for name, new in edits.items()}
            if whole.get((copy / case.file).resolve()) == (place / case.file).read_text():
                return "original", f"{text}: {' '.join(rows)}"
            if edits and found[0] == "none":
                found = ("another", f"{text}: {' '.join(rows)}")
    return found


def _rows(old: str, new: str) -> list[str]:
    rows = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return [row for row in rows if not row.startswith(("---", "+++", "@@"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", type=Path, required=True)
    parser.add_argument("--prepared", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for place in sorted(given.prepared.iterdir()):
        for case in cases_of(load(place.name, given.recipes), place):
            name = f"{place.name}/{case.name}"
            if case.mutator is None or not case.files or (given.only and not any(one in name for one in given.only)):
                continue
            kind, rows = outcome(case, place)
            counts.setdefault(case.mutator.cause, Counter())[kind] += 1
            if given.verbose:
                print(f"{kind}: {name} ({case.mutator.cause}) {rows}")
    print("| cause | mutants | the original | another edit | none |\n|---|---|---|---|---|")
    for cause, each in sorted(counts.items()):
        print(f"| {cause} | {each.total()} | {each['original']} | {each['another']} | {each['none']} |")
    total = sum(counts.values(), Counter[str]())
    print(f"| all | {total.total()} | {total['original']} | {total['another']} | {total['none']} |")


if __name__ == "__main__":
    main()
