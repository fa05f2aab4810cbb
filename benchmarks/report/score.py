"""How long the pages take: the report of a long recording, and the dashboard's first view of many runs.

    python benchmarks/report/score.py [--steps 100000] [--layers 200] [--runs 1000] [--long 1000000]

CPU seconds of fresh processes for the report, from reading the recording to the written file; wall seconds for the
dashboard, from the start of the program to the whole answer to the first request, and for the same request once it is
warm; CPU seconds for opening one long run in it and for the slowest of three windows of its curve."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from recording import make_logs, make_long, make_recording

SRC = Path(__file__).parents[2] / "src"
MOST_CPU, MOST_FIRST_VIEW = 3.0, 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--layers", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--long", type=int, default=1_000_000)
    options = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory(prefix="traindx-report-") as scratch:
        folder = make_recording(Path(scratch) / "long.traindx", options.steps, options.layers)
        output = Path(scratch) / "report.html"
        cpu = min(report_cpu(folder, output, environment) for _ in range(3))
        print(
            f"report of {options.steps:,} steps and {options.layers} layers: {cpu:.2f} s CPU, "
            f"{output.stat().st_size / 1e6:.2f} MB (goal: under {MOST_CPU:g} s)"
        )
        ready, first, warm, size = first_view(make_logs(Path(scratch) / "runs", options.runs), environment)
        print(
            f"dashboard of {options.runs:,} runs: up after {ready:.2f} s, first view {first:.2f} s, again {warm:.2f} "
            f"s, {size / 1e3:.0f} kB (goal: first view under {MOST_FIRST_VIEW:g} s)"
        )
        opening, window = long_run(make_long(Path(scratch) / "million", options.long), options.long)
        print(
            f"a run of {options.long:,} steps: opened in {opening:.2f} s CPU, a window of its curve in "
            f"{window * 1e3:.0f} ms"
        )
    return 0 if cpu < MOST_CPU and first < MOST_FIRST_VIEW else 1


def report_cpu(folder: Path, output: Path, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "traindx", "diagnose", str(folder), "--format", "html", "-o", str(output)]
    subprocess.run(command, env=environment, check=False, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_view(folder: Path, environment: dict[str, str]) -> tuple[float, float, float, int]:
    """Seconds until the server listens, for the first request and for one after it; and the size of the page."""
    began = time.monotonic()
    command = [sys.executable, "-m", "traindx", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = server.stderr.readline().split(" on ")[1].split()[0]
        ready = time.monotonic() - began
        try:
            times = []
            for _ in range(2):
                start = time.monotonic()
                with urllib.request.urlopen(address) as answer:
                    size = len(answer.read())
                times.append(time.monotonic() - start)
        finally:
            server.terminate()
    return ready, times[0], times[1], size


def long_run(folder: Path, steps: int) -> tuple[float, float]:
    """CPU seconds for a run's page when it was not open, and for the slowest window of 2 400 columns."""
    sys.path.insert(0, str(SRC))
    from traindx.executors import executor_for
    from traindx.server.app import Dashboard
    from traindx.server.guard import Guard
    from traindx.server.shelf import Shelf

    shelf = Shelf(folder, executor_for("local", workers=1))
    shelf.look_again()
    dashboard = Dashboard(shelf, Guard("127.0.0.1"), 0)
    run = shelf.rows()[0]["id"]

    def spent(target: str) -> float:
        began = time.process_time()
        assert dashboard.answer("GET", target, {"Host": "127.0.0.1"}).status == 200
        return time.process_time() - began

    opening = spent(f"/run/{run}")
    windows = [(0.0, 1.0), (0.4, 0.6), (0.7, 0.701)]
    return opening, max(spent(f"/run/{run}/window?first={a * steps}&last={b * steps}&columns=2400") for a, b in windows)


if __name__ == "__main__":
    sys.exit(main())
