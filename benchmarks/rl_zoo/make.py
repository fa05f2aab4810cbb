"""Makes the zoo: `python benchmarks/rl_zoo/make.py --work DIR [--seeds 5] [--jobs 2] [--only ppo] [--zoo lm_zoo]`.
What is there already is not made again. Each run is `traindx run` of a program; its recording and its page stay in
DIR."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from plan import HERE, Planned, planned

SECONDS = 600


def prepare(programs: Path, work: Path) -> None:
    """What the programs of a zoo share: a tokenizer and a model that has read something."""
    shared = programs / "words.py"
    if shared.exists():
        subprocess.run([sys.executable, str(shared)], check=True, cwd=work)


def make(run: Planned, work: Path, programs: Path) -> str:
    """One recording; a line where it failed."""
    page, recording = work / f"{run.name}.json", work / f"{run.name}.traindx"
    if page.exists():
        return ""
    shutil.rmtree(recording, ignore_errors=True)
    program = programs / f"{run.program}.py"
    command = [
        sys.executable, "-m", "traindx", "run", "--quiet", "--json", str(page), "--to", str(recording), str(program),
        run.fault, str(run.severity), str(run.seed),
    ]  # fmt: skip
    quiet = {**os.environ, "TRAINDX_CASES": "off", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=quiet, cwd=work)
    except subprocess.TimeoutExpired:
        return f"{run.name}: took more than {SECONDS} s"
    return "" if page.exists() else f"{run.name}: exit {done.returncode}: {done.stderr.strip()[-200:]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--zoo", default=HERE.name)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    runs, skipped = planned(asked.seeds, asked.only, asked.zoo)
    programs = HERE.parent / asked.zoo / "programs"
    prepare(programs, asked.work)
    print(*skipped, f"{len(runs)} runs", sep="\n")
    with ThreadPoolExecutor(asked.jobs) as pool:
        for number, line in enumerate(pool.map(lambda run: make(run, asked.work.resolve(), programs), runs), 1):
            if line or number % 20 == 0:
                print(f"{number}/{len(runs)} {line}", flush=True)


if __name__ == "__main__":
    main()
