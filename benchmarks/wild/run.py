"""Runs programs of other people under traindx, as they are and with one fault each, and keeps what came of it.

    python benchmarks/wild/run.py --checkouts DIR --python PYTHON --work DIR [--side open|sealed] [--only NAME…]
    [--mutants 10 | --cases …]
                                  [--jobs 2] [--seconds N] [--list] [--prepare]

Every case runs with two seeds (`--seeds`) in a copy of its own; the sound programs run bare as well, for the cost.
What is done is kept below WORK/kept/PROGRAM/CASE/SEED and not done again, so that a run can be cut off, resumed and
spread over machines; `--seconds` ends it in time. PYTHON needs torch, traindx and what the recipes need (`--list`
shows it).
Programs are split into open and sealed ones by the name of their repository: look at the first, only score the second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from cases import SOUND, Case, cases_of
from checkouts import prepared
from recipe import RECIPES, load, names

HERE = Path(__file__).resolve().parent
SEEDS = (0, 1)
PATIENCE = 10.0  # times the seconds of the sound program, after which a case is ended
STARTUP = 60.0


@dataclass(frozen=True)
class Job:
    case: Case
    seed: int
    bare: bool
    place: Path  # the prepared program
    to: Path

    @property
    def done(self) -> bool:
        return (self.to / "run.json").exists()


def chosen(cases: list[Case], most: int) -> list[Case]:
    """The sound program and so many mutants of it: faults that only its kind can have first, then in turns one that few
    programs can have and one that nearly all can have, in the order of a hash, so that every fault has its turn and
    nobody chooses."""
    sound, *mutants = cases
    mutants.sort(key=lambda case: hashlib.sha256(f"{case.recipe.name}/{case.name}".encode()).hexdigest())
    groups: dict[str, list[Case]] = {"own": [], "rare": [], "common": []}
    for case in mutants:
        assert case.mutator is not None
        groups["own" if case.mutator.kinds else "common" if case.mutator.common else "rare"].append(case)
    turns = [case for pair in zip_longest(groups["rare"], groups["common"]) for case in pair if case is not None]
    return [sound, *(groups["own"] + turns)[:most]]


def jobs_of(programs: Iterable[str], given: argparse.Namespace) -> list[Job]:
    found: list[Job] = []
    for name in programs:
        recipe = load(name, given.recipes)
        if given.side is not None and recipe.sealed != (given.side == "sealed"):
            continue
        place = prepared(recipe, given.checkouts, given.work)
        cases = list(cases_of(recipe, place))
        for case in (
            [case for case in cases if case.name in given.cases] if given.cases else chosen(cases, given.mutants)
        ):
            for seed in given.seeds:
                for bare in (False, True) if case.name == SOUND else (False,):
                    folder = given.work / "kept" / name / case.name / (f"bare-{seed}" if bare else str(seed))
                    found.append(Job(case, seed, bare, place, folder))
    return found


def perform(job: Job, given: argparse.Namespace, deadline: float) -> str:
    if time.monotonic() > deadline:
        return "later"
    recipe = job.case.recipe
    with tempfile.TemporaryDirectory(prefix="wild-") as temporary:
        copy, kept = Path(temporary) / "program", Path(temporary) / "kept"
        shutil.copytree(job.place, copy, symlinks=True)
        job.case.write(copy)
        command = [
            sys.executable, str(HERE / "once.py"), str(copy / recipe.folder), "--python", given.python, "--to",
            str(kept), "--seed", str(job.seed),
            "--limit", str(STARTUP + PATIENCE * recipe.seconds), "--environment", json.dumps(dict(recipe.environment)),
            *(["--packages", given.packages] if given.packages else []), *(["--bare"] if job.bare else []), "--",
            *job.case.command,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not (kept / "run.json").exists():
            return f"failed: {done.stderr[-300:]}"
        about = {
            "program": recipe.name, "repository": recipe.repository, "sealed": recipe.sealed, "kind": recipe.kind,
            "case": job.case.name,
            "cause": job.case.mutator.cause if job.case.mutator else "healthy",
            "also": job.case.mutator.also if job.case.mutator else (),
            "file": job.case.file, "lines": job.case.lines,
        }  # fmt: skip
        outcome = {**json.loads((kept / "run.json").read_text()), **about}
        said = (kept / "said.txt").read_text("utf-8", "replace")
        outcome["result"] = recipe.result.read(said) if recipe.result else None
        (kept / "run.json").write_text(json.dumps(outcome))
        shutil.rmtree(kept / "recording" / "batches", ignore_errors=True)
        shutil.rmtree(job.to, ignore_errors=True)
        job.to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(kept, job.to)
        return f"exit code {outcome['code']}, {outcome['cpu']:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkouts", type=Path, default=Path("checkouts"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--packages", default="", help="A further directory of packages for the programs.")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--recipes", type=Path, default=RECIPES, help="Recipes of programs that are not kept here.")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--side", choices=("open", "sealed"))
    parser.add_argument("--only", nargs="*", default=[], help="Programs whose names contain one of these.")
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--mutants", type=int, default=10, help="Of a program at most.")
    parser.add_argument("--cases", nargs="*", default=[], help="These and no others: names of mutators, and `sound`.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="No run begins after this.")
    parser.add_argument("--list", action="store_true", help="Say what there is to do, and do nothing.")
    parser.add_argument(
        "--prepare", action="store_true", help="Take the programs and make their data, and nothing else."
    )
    given = parser.parse_args()
    began = time.monotonic()
    wanted = [
        name
        for name in names(given.recipes)
        if (not given.only or any(part in name for part in given.only)) and not any(part in name for part in given.skip)
    ]
    jobs = jobs_of(wanted, given)
    left = [job for job in jobs if not job.done]
    programs = {job.case.recipe.name: job.case.recipe for job in jobs}
    mutants = {(job.case.recipe.name, job.case.name) for job in jobs if job.case.name != SOUND}
    needs = sorted({need for recipe in programs.values() for need in recipe.needs})
    repositories = {recipe.repository for recipe in programs.values()}
    print(
        f"{len(programs)} programs of {len(repositories)} repositories "
        f"({sum(recipe.sealed for recipe in programs.values())} sealed), "
        f"{len(mutants)} mutants; {len(left)} of {len(jobs)} runs to do",
        flush=True,
    )
    if given.list:
        print(f"needs: torch {' '.join(needs)}")
    if given.list or given.prepare:
        return
    # program by program, the sound one first: a cut leaves whole programs, and no mutant of a program runs that does
    # not run itself
    left.sort(key=lambda job: (-job.case.recipe.seconds, job.case.recipe.name, job.case.name != SOUND))
    deadline = began + given.seconds
    broken: set[str] = set()

    def one(job: Job) -> str:
        if job.case.recipe.name in broken:
            return "later"
        said = perform(job, given, deadline)
        if job.case.name == SOUND and said.startswith(("exit code", "failed")) and not said.startswith("exit code 0"):
            broken.add(job.case.recipe.name)
        return said

    with ThreadPoolExecutor(given.jobs) as pool:
        for job, said in zip(left, pool.map(one, left), strict=True):
            if said != "later":
                print(f"{job.case.recipe.name}/{job.case.name}/{job.to.name}: {said}", flush=True)


if __name__ == "__main__":
    main()
