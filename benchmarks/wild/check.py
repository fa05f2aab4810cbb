"""Tries a recipe: takes the program, makes its data, and runs it bare with two seeds.

python benchmarks/wild/check.py NAME… --checkouts DIR --python PYTHON [--work DIR] [--fresh]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checkouts import prepared
from recipe import Recipe, load

HERE = Path(__file__).resolve().parent
SEEDS = (0, 1)


def check(recipe: Recipe, given: argparse.Namespace) -> bool:
    place = given.work / "prepared" / recipe.name
    if given.fresh:
        shutil.rmtree(place, ignore_errors=True)
    place = prepared(recipe, given.checkouts, given.work)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    missing = [file for file in recipe.files if not (place / file).is_file()]
    print(
        f"{recipe.name}: {recipe.repository}, {'sealed' if recipe.sealed else 'open'}, {size:.1f} MB, missing {missing}"
    )
    good = not missing
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="wild-") as temporary:
            copy, to = Path(temporary) / "program", Path(temporary) / "kept"
            shutil.copytree(place, copy, symlinks=True)
            subprocess.run(
                [sys.executable, str(HERE / "once.py"), str(copy / recipe.folder), "--python", given.python, "--to",
                 str(to), "--bare",
                 "--seed", str(seed), "--environment", json.dumps(dict(recipe.environment)), "--", *recipe.command],
                 check=True,
            )  # fmt: skip
            outcome = json.loads((to / "run.json").read_text())
            said = (to / "said.txt").read_text()
            result = recipe.result.read(said) if recipe.result else None
            print(
                f"  seed {seed}: exit code {outcome['code']}, {outcome['cpu']:.1f} s CPU, {outcome['seconds']:.1f} s, "
                f"{outcome['peak_mb']:.0f} MB, result {result}"
            )
            good = good and outcome["code"] == 0 and (recipe.result is None or result is not None)
            if seed == SEEDS[0] or not good:
                print("    | " + "\n    | ".join(said.replace("\r", "\n").splitlines()[-given.lines :]))
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "wild")
    parser.add_argument("--fresh", action="store_true", help="Take the program and make its data anew.")
    parser.add_argument("--lines", type=int, default=12, help="Of the output to show.")
    given = parser.parse_args()
    results = [check(load(name), given) for name in given.names]
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
