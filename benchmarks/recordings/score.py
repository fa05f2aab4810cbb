"""How large a recording gets, and what diagnosing it takes: CPU seconds and memory of a fresh `traindx diagnose`.

    python benchmarks/recordings/score.py [--layers 200]

The values are simulated; what writes, thins out and reads them is traindx itself. Losses, rates and times come at every
step, four series of each layer at every few."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from traindx.live.recording.store import Store
from traindx.live.recording.thinning import Thinning
from traindx.measurements import SCHEMA

SIZES = ((100_000, 100), (100_000, 5), (1_000_000, 200), (1_000_000, 10))  # steps, and how many from look to look
FLUSH = 30  # steps in a flush


def record(folder: Path, steps: int, every: int, layers: int) -> None:
    store, thinning, noise = Store(folder), Thinning(), random.Random(0).gauss
    store.line("meta", schema=SCHEMA, argv=["train.py"], rank=0, world=1)
    names = [f"blocks.{number}.mlp.fc.weight" for number in range(layers)]
    for step in range(steps):
        row = {
            "train_loss": 2.3 * 0.05 ** (step / steps) + abs(noise(0, 0.05)),
            "lr": 1e-3, "step_time": 0.03 + abs(noise(0, 1e-3)), "grad_norm": 1 + noise(0, 0.1),
        }  # fmt: skip
        if step % every == 0 or step < 3:
            for name in names:
                row |= {
                    f"grad_norm/{name}": 0.1 + abs(noise(0, 0.01)), f"weight_norm/{name}": 10 + noise(0, 0.01),
                    f"update_ratio/{name}": 1e-3 + abs(noise(0, 1e-5)), f"dead/{name}": abs(noise(0, 0.02)),
                }  # fmt: skip
        kept = thinning.keep(step, row)
        if kept:
            store.row(step, kept)
        if step % FLUSH == 0:
            store.flush()
    for step, row in thinning.rest():
        store.row(step, row)
    store.close()


def diagnosed(folder: Path) -> tuple[float, float]:
    """CPU seconds and megabytes of a process that diagnoses the recording."""
    child = subprocess.Popen([sys.executable, "-m", "traindx", "diagnose", str(folder)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise SystemExit(f"traindx diagnose {folder} failed with {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--layers", type=int, default=200)
    layers = parser.parse_args().layers
    print(f"| steps | {layers} layers every | on disk | CPU | memory |\n|---|---|---|---|---|")
    for steps, every in SIZES:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "run.traindx"
            record(folder, steps, every, layers)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            seconds, memory = min(diagnosed(folder) for _ in range(3))
        print(f"| {steps:,} | {every} steps | {size:.0f} MB | {seconds:.1f} s | {memory:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
