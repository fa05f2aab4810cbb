"""How long comparing thousands of runs takes, and how much memory: `python benchmarks/compare/score.py --runs 10000`.

Writes tiny runs (half CSV, half JSON lines, settings beside each, a few of them damaged) into a temporary directory,
compares them in a process of its own, and prints a table. With `--executor ray` the same on Ray; the results are
checked to be the same."""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
BATCHES = (16, 32, 64, 128)
DAMAGED = 500  # every so many runs one is no log
PROGRAM = """
import json, resource, sys, time
import traindx
began = time.perf_counter()
comparison = traindx.compare(sys.argv[1], executor=sys.argv[2], workers=int(sys.argv[3]) or None)
seconds = time.perf_counter() - began
text = comparison.json()
own = resource.getrusage(resource.RUSAGE_SELF)
workers = resource.getrusage(resource.RUSAGE_CHILDREN)
found = comparison.findings
open(sys.argv[4], "w").write(text)
print(json.dumps({
    "runs": len(found.rows), "unreadable": len(found.unreadable), "seconds": seconds, "cpu": own.ru_utime + own.ru_stime + workers.ru_utime + workers.ru_stime,
    "peak": own.ru_maxrss / 1024, "worker_peak": workers.ru_maxrss / 1024, "json": len(text) / 2**20,
    "explains": [one.setting for one in found.explanations if one.verdict == "explains"],
}))
"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--executor", nargs="+", default=["local"], choices=["local", "ray"])
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: one for each core")
    given = parser.parse_args()
    print(
        "| runs | executor | seconds | CPU seconds | per run | peak MB, comparing | peak MB, a worker | not read | "
        "explains |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for count in given.runs:
        with tempfile.TemporaryDirectory(prefix="traindx-compare-") as place:
            began = time.perf_counter()
            write(Path(place) / "fleet", count, given.rows)
            print(f"wrote {count} runs in {time.perf_counter() - began:.0f} s", file=sys.stderr)
            seen = set()
            for executor in given.executor:
                output = Path(place) / f"{executor}.json"
                done = subprocess.run(
                    [sys.executable, "-c", PROGRAM, str(Path(place) / "fleet"), executor, str(given.workers),
                     str(output)],
                    stdout=subprocess.PIPE, text=True, check=True,
                )  # fmt: skip
                told = json.loads(done.stdout.splitlines()[-1])
                seen.add(hashlib.sha256(output.read_bytes()).hexdigest())
                print(
                    f"| {told['runs']} | {executor} | {told['seconds']:.0f} | {told['cpu']:.0f} | "
                    f"{told['cpu'] / count * 1e3:.1f} ms | "
                    f"{told['peak']:.0f} | {told['worker_peak']:.0f} | {told['unreadable']} | "
                    f"{', '.join(told['explains'])} |"
                )
            if len(given.executor) > 1:
                print(f"results {'are the same' if len(seen) == 1 else 'DIFFER'} on {' and '.join(given.executor)}")


def write(root: Path, count: int, rows: int) -> None:
    """A search in which the learning rate matters and the batch size does not, five seeds and more of each."""
    random = np.random.default_rng(0)
    step = np.arange(rows)
    for number in range(count):
        lr, batch = RATES[number % len(RATES)], BATCHES[number // len(RATES) % len(BATCHES)]
        folder = root / f"{number // 1000:03d}" / f"run-{number:06d}"
        folder.mkdir(parents=True)
        settings = {
            "lr": lr,
            "batch_size": batch,
            "seed": number // (len(RATES) * len(BATCHES)),
            "output_dir": str(folder),
        }
        (folder / "config.json").write_text(json.dumps(settings))
        if number % DAMAGED == DAMAGED - 1:
            (folder / "metrics.csv").write_text("nothing of use\n")
            continue
        floor = 0.3 + 0.2 * abs(np.log10(lr) + 3) + random.normal(0, 0.03)
        level = (2.3 - floor) * np.exp(-step / 15) + floor
        train, val = level + random.normal(0, 0.02, rows), 1.05 * level + random.normal(0, 0.01, rows)
        if number % 2:
            lines = [
                f'{{"step": {i}, "train_loss": {t:.5f}, "val_loss": {v:.5f}}}'
                for i, t, v in zip(step, train, val, strict=True)
            ]
            (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
        else:
            lines = [f"{i},{t:.5f},{v:.5f}" for i, t, v in zip(step, train, val, strict=True)]
            (folder / "metrics.csv").write_text("\n".join(["step,train_loss,val_loss", *lines]) + "\n")


if __name__ == "__main__":
    main()
