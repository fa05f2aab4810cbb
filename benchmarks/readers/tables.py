"""One million points as CSV and as JSON lines: traindx against polars, CPU seconds.

polars is no dependency of traindx; give it an environment of its own:
    python -m venv polars-env && polars-env/bin/pip install polars
    python benchmarks/readers/tables.py --polars polars-env/bin/python [--points 1000000] [--repeats 5]

Each reading happens in a fresh process, the two taking turns; the fastest of each counts, as other work on the machine
only ever adds time. The time is that of the reading alone, without imports and without asking every other format
whether the file is its own. polars gives a data frame; traindx gives runs: columns understood, counters settled, runs
told apart."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TRAINDX = """
import sys, time
from pathlib import Path
from traindx.readers.find import candidates
from traindx.readers.source import Source
path = Path(sys.argv[1])
reader = candidates(Source(path))[0][1]
start = time.process_time()
runs = reader.read(Source(path))
print(time.process_time() - start, sum(run.points for run in runs))
"""
POLARS = """
import sys, time
import polars
read = polars.read_ndjson if sys.argv[1].endswith("jsonl") else polars.read_csv
start = time.process_time()
frame = read(sys.argv[1])
print(time.process_time() - start, frame.height)
"""
TAGS = [f"train/loss_{number}" for number in range(10)]


def three_columns(points: int) -> Iterator[dict[str, float]]:
    """A step and two metrics a row."""
    rng = random.Random(0)
    for step in range(points // 2):
        yield {"step": step, "loss": 3 * rng.random(), "lr": 1e-3 * rng.random()}


def wide(points: int) -> Iterator[dict[str, float]]:
    """A step and a hundred metrics a row."""
    rng = random.Random(0)
    for step in range(points // 100):
        yield {"step": step, **{f"layer{number}/loss": rng.random() for number in range(100)}}


def long(points: int) -> Iterator[dict[str, float | str]]:
    """A step, a name and a value a row."""
    rng = random.Random(0)
    for step in range(points // len(TAGS)):
        for tag in TAGS:
            yield {"step": step, "tag": tag, "value": rng.random()}


def sparse(points: int) -> Iterator[dict[str, float | None]]:
    """Lightning's shape: training and validation in rows of their own, the other cells blank."""
    rng = random.Random(0)
    for step in range(points):
        validates = step % 1000 == 999
        yield {
            "epoch": step // 1000, "step": step, "train_loss_step": None if validates else rng.random(),
            "train_loss_epoch": rng.random() if validates else None, "val_loss": rng.random() if validates else None,
        }  # fmt: skip


SHAPES = {
    "step and 2 metrics": (three_columns, ("csv", "jsonl")),
    "step and 100 metrics": (wide, ("csv", "jsonl")),
    "step, name, value": (long, ("csv", "jsonl")),
    "sparse rows": (sparse, ("csv",)),
}


def write(path: Path, rows: Iterator[dict[str, float]]) -> None:
    with path.open("w") as file:
        for number, row in enumerate(rows):
            if path.suffix == ".jsonl":
                file.write(json.dumps(row) + "\n")
                continue
            if not number:
                file.write(",".join(row) + "\n")
            file.write(",".join("" if cell is None else str(cell) for cell in row.values()) + "\n")


def cpu_seconds(python: str, program: str, path: Path) -> float:
    done = subprocess.run([python, "-c", program, str(path)], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polars", required=True, help="a Python that has polars")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print("| file | MB | traindx s | polars s | ratio |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for shape, (rows, endings) in SHAPES.items():
            for ending in endings:
                path = Path(folder, f"log.{ending}")
                write(path, rows(arguments.points))
                ours, theirs = [], []
                for _ in range(arguments.repeats):
                    ours.append(cpu_seconds(sys.executable, TRAINDX, path))
                    theirs.append(cpu_seconds(arguments.polars, POLARS, path))
                mine, other = min(ours), min(theirs)
                size = path.stat().st_size / 1e6
                print(
                    f"| {shape}, {ending.upper()} | {size:.0f} | {mine:.3f} | {other:.3f} | {mine / other:.2f} |",
                    flush=True,
                )
                path.unlink()


if __name__ == "__main__":
    main()
