"""A text log of a gigabyte: megabytes a second and peak memory of reading it, as rows of a Markdown table.

    python benchmarks/readers/text.py [--size 1000] [--folder DIR]

The logs are made here (Megatron's long lines with a noise line after each, nanoGPT's short ones) and removed again.
Each is read in a fresh process, whose peak memory counts whole; the time is CPU time of the reading alone, imports
excluded."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

READ = """
import resource, sys, time
from pathlib import Path
from traindx.readers.find import candidates
from traindx.readers.source import Source
source = Source(Path(sys.argv[1]))
reader = candidates(source)[0][1]
start = time.process_time()
runs = reader.read(source)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
peak = peak / 1024 if sys.platform != "darwin" else peak / 1024**2
print(seconds, peak, reader.name, sum(run.points for run in runs))
"""
BLOCK = 1000  # lines between two evaluations


def megatron(start: int, dice: random.Random) -> str:
    lines = [
        f" iteration {step:8d}/ 9000000 | consumed samples: {step * 512:12d} | elapsed time per iteration (ms): "
        f"{1234 + dice.random():.1f} | "
        f"learning rate: 1.500E-04 | global batch size:   512 | lm loss: {loss(step, dice):.6E} | loss scale: 131072.0 "
        f"| "
        f"grad norm: {0.4 + dice.random():.3f} | number of skipped iterations:   0 | number of nan iterations:   0 "
        f"|\ntime (ms)\n"
        for step in range(start, start + BLOCK)
    ]
    return (
        "".join(lines)
        + f" validation loss at iteration {start + BLOCK} | lm loss value: {loss(start, dice):.6E} | lm loss PPL: "
        f"9.0E+00 |\n"
    )


def nanogpt(start: int, dice: random.Random) -> str:
    lines = [
        f"iter {step}: loss {loss(step, dice):.4f}, time {123.4 + dice.random():.2f}ms, mfu "
        f"{23.4 + dice.random():.2f}%\n"
        for step in range(start, start + BLOCK)
    ]
    return (
        "".join(lines) + f"step {start + BLOCK}: train loss {loss(start, dice):.4f}, val loss {loss(start, dice):.4f}\n"
    )


def loss(step: int, dice: random.Random) -> float:
    return 2 + 5 / (1 + step / 1e4) + dice.gauss(0, 0.05)


def write(path: Path, size: int, block: Callable[[int, random.Random], str]) -> None:
    dice = random.Random(0)
    written, step = 0, 0
    with path.open("w") as file:
        while written < size:
            written += file.write(block(step, dice))
            step += BLOCK


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="megabytes of each log")
    parser.add_argument("--folder", type=Path, help="where to put the logs (default: a temporary directory)")
    arguments = parser.parse_args()
    print("| log | read as | size | CPU s | MB/s | peak RSS | points kept |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for block in (megatron, nanogpt):
            path = Path(folder) / f"{block.__name__}.log"
            write(path, arguments.size * 1_000_000, block)
            out = subprocess.run(
                [sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True
            ).stdout.split()
            seconds, peak, points = float(out[0]), float(out[1]), int(out[3])
            print(
                f"| {block.__name__} | {out[2]} | {path.stat().st_size / 1e6:.0f} MB | {seconds:.1f} | "
                f"{path.stat().st_size / 1e6 / seconds:.1f} | {peak:.0f} MB | {points} |",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
