"""What TrainCheck costs: it rewrites a whole script, so it has no turn in the process that `score.py` measures the
others in.

    python benchmarks/overhead/with_traincheck.py [--device cuda] [--rounds 3] [--only small-mlp mlp …] [--steps 12]

Each round trains the same model twice in processes of its own: bare, and under `traincheck-collect` as its manual says
for a reference trace (`--models-to-track model`, everything else at its default). Printed are the median time of a bare
step (CPU time of the process, wall time with `--device cuda`) and the median ratio within a round. Needs `traincheck`
beside torch; with a CUDA build of torch and no GPU driver TrainCheck 0.2 stops, because it calls torch's own
initialisation of CUDA, so take a CPU build there."""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
import sys, time
sys.path.insert(0, {here!r})
import torch
from torch import nn
from score import TASKS
torch.manual_seed(0)
device = {device!r}
model, batch = TASKS[{task!r}](device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
times = []
def clock():
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()
for step in range({steps}):
    began = clock()
    x, y = batch()
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    times.append(clock() - began)
times = sorted(times[3:])
print("SECONDS", times[len(times) // 2], flush=True)
"""
COLLECT = "import sys; from traincheck.collect_trace import main; sys.exit(main())"
LIMIT = 240  # seconds of one process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=["small-mlp", "medium-mlp", "mlp", "deep-mlp", "gpt2", "resnet50"])
    parser.add_argument("--steps", type=int, default=12)
    arguments = parser.parse_args()
    print("| task | bare step | under TrainCheck |\n|---|---|---|")
    for task in arguments.only:
        pairs = [_pair(task, arguments.device, arguments.steps) for _ in range(arguments.rounds)]
        bare = statistics.median(one for one, _ in pairs)
        ratios = [watched / one for one, watched in pairs if watched is not None]
        told = f"{statistics.median(ratios):.0f}" if ratios else f"not within {LIMIT} s"
        print(f"| {task} | {bare * 1000:.2f} ms | {told} |", flush=True)


def _pair(task: str, device: str, steps: int) -> tuple[float, float | None]:
    """Seconds of a step bare and watched; None for the latter where it did not get that far."""
    with tempfile.TemporaryDirectory(prefix="traindx-bench-") as folder:
        script = Path(folder) / "train.py"
        here = str(Path(__file__).parent)
        script.write_text(SCRIPT.format(here=here, task=task, device=device, steps=steps))
        bare = _seconds([str(script)], folder)
        track = ["--pyscript", str(script), "--models-to-track", "model", "--output-dir", str(Path(folder) / "trace")]
        watched = _seconds(["-c", COLLECT, *track], folder)
    if bare is None:
        raise SystemExit(f"{task} does not run by itself")
    return bare, watched


def _seconds(arguments: list[str], folder: str) -> float | None:
    try:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    found = re.search(r"SECONDS ([\d.e-]+)", done.stdout)
    if found is None:
        print(done.stdout[-300:], done.stderr[-300:], file=sys.stderr)
    return float(found[1]) if found else None


if __name__ == "__main__":
    main()
