"""A training under `traindx run` on a bad day, and the same one bare: same weights, flat memory, cost in budget.

    python benchmarks/soak/run.py --minutes 60 [--seed 1] [--state soak.json]

While it trains, it is stopped and continued at random (SIGSTOP, SIGCONT), the disk that its recording lies on fills up
and is freed again (a small file system in memory, where one may be mounted), the clock that the recorder reads jumps by
hours (inside the process: the machine's own is left alone), a dashboard and `traindx watch` read along, and alerts go
to an address that answers slowly. Its state is written every few seconds, so that a soak that is cut short has figures
too. Ends with 1 where something did not hold."""

from __future__ import annotations

import argparse
import http.server
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

BUDGET = 0.01  # of the time, which recording may take by default
COST_LEEWAY = 2.0  # times the budget: a machine that is stopped and stolen from measures roughly
MEMORY_LEEWAY = 40.0  # MB that the training may have grown since its first fifth
DISK_MB = 8
TRAINING = """
import os, random, resource, sys, time
steps, seed = int(sys.argv[1]), int(sys.argv[2])
if os.environ.get("SOAK_JUMPS"):  # the clock of this process jumps; what measures durations does not
    real, jumps = time.time, random.Random(seed)
    offset = [0.0]
    def jumping():
        if jumps.random() < 0.001:
            offset[0] += jumps.choice((-7200.0, 3600.0, 86400.0))
        return real() + offset[0]
    time.time = jumping
import torch
torch.manual_seed(seed); torch.set_num_threads(1)
nn = torch.nn
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x = torch.randn(2048, 32); y = x[:, :4].argmax(1)
for step in range(steps):
    batch = torch.randint(0, 2048, (256,))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
import hashlib
print("WEIGHTS", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""


class Slow(http.server.BaseHTTPRequestHandler):
    """Takes alerts, and its time."""

    taken = 0

    def do_POST(self) -> None:
        Slow.taken += 1
        time.sleep(2)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


class Disk:
    """A small file system for the recording; a plain directory where none may be mounted."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(place)]
        self.mounted = shutil.which("mount") is not None and subprocess.run(mount, capture_output=True).returncode == 0

    def fill(self) -> None:
        if self.mounted:
            try:
                with (self.place / "ballast").open("wb") as file:
                    while True:
                        file.write(b"x" * (1 << 16))
            except OSError:
                pass

    def free(self) -> None:
        (self.place / "ballast").unlink(missing_ok=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.place)], capture_output=True)


def processes_below(parent: int) -> list[int]:
    """The children of a process, and theirs."""
    found = []
    waiting = [parent]
    while waiting:
        number = waiting.pop()
        try:
            children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        except OSError:
            continue
        found += [int(child) for child in children]
        waiting += [int(child) for child in children]
    return found


def memory_of(process: int) -> float:
    """Resident megabytes."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


def environment(jumps: bool) -> dict[str, str]:
    plain = {**os.environ, "OMP_NUM_THREADS": "1", "TRAINDX_CASES": "off"}
    return {**plain, "SOAK_JUMPS": "1"} if jumps else plain


def bare(folder: Path, steps: int, seed: int) -> tuple[str, float]:
    """The mark of the weights of the training alone, and its seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "train.py", str(steps), str(seed)], cwd=folder, env=environment(False), capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()[-1], time.monotonic() - began


def steps_for(folder: Path, seconds: float, seed: int) -> int:
    """How many steps the training makes in so many seconds."""
    start = bare(folder, 1, seed)[1]
    took = bare(folder, 3000, seed)[1] - start
    return max(1000, int(3000 / max(took, 0.05) * seconds))


def soak(folder: Path, steps: int, asked: argparse.Namespace, state: dict[str, Any]) -> None:
    dice = random.Random(asked.seed)
    disk = Disk(folder / "disk")
    alerts = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=alerts.serve_forever, daemon=True).start()
    traindx = [sys.executable, "-m", "traindx"]
    recording = disk.place / "run.traindx"
    training = subprocess.Popen(
        [*traindx, "run", "--to", str(recording), "--alert", f"http://127.0.0.1:{alerts.server_port}/",
         "--cool-down", "5", "train.py", str(steps), str(asked.seed)],
        cwd=folder, env=environment(True), stdout=subprocess.PIPE, stderr=(folder / "said").open("w"), text=True,
    )  # fmt: skip
    beside = [
        subprocess.Popen([*traindx, *words], cwd=folder, env=environment(False), stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
        for words in (["serve", str(disk.place), "--port", "0"], ["watch", str(disk.place)])
    ]  # fmt: skip
    memory: list[float] = []
    counts = {"stops": 0, "fills": 0}
    try:
        while training.poll() is None:
            time.sleep(dice.uniform(0.5, 3.0))
            children = processes_below(training.pid)
            memory.append(max(map(memory_of, children), default=0.0))
            if children and dice.random() < 0.3:
                counts["stops"] += 1
                chosen = dice.choice(children)
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    try:
                        os.kill(chosen, number)
                    except ProcessLookupError:
                        break
                    time.sleep(dice.uniform(0.1, 1.5))
            # in the second half: a recording that met a full disk has ended, as it should
            if len(memory) > 10 and dice.random() < 0.05 and state["elapsed"] > 30 * asked.minutes:
                counts["fills"] += 1
                disk.fill()
                time.sleep(dice.uniform(1, 4))
                disk.free()
            state["elapsed"] = time.monotonic() - state["began"]
            state.update(memory=summary(memory), **counts, alerts=Slow.taken, disk=disk.mounted)
            save(asked.state, state)
        out = training.stdout.read() if training.stdout else ""
        state["weights"] = out.split()[-1] if "WEIGHTS" in out else ""
        state["code"] = training.returncode
        state["cost"] = cost_in(recording)
    finally:
        for process in beside:
            process.terminate()
        alerts.shutdown()
        disk.close()


def summary(memory: list[float]) -> dict[str, float]:
    fifth = max(1, len(memory) // 5)
    early, late = sorted(memory[fifth : 2 * fifth] or memory), sorted(memory[-fifth:])
    return {"early_mb": early[len(early) // 2], "late_mb": late[len(late) // 2], "most_mb": max(memory)}


def cost_in(recording: Path) -> float | None:
    """The share of the time that recording took, as it last said itself."""
    found = None
    for path in recording.glob("rank-*.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith('{"k": "cost"'):
                try:
                    found = json.loads(line)["share"]
                except ValueError:
                    continue
    return found


def save(path: str, state: dict[str, Any]) -> None:
    part = Path(f"{path}.part")
    part.write_text(json.dumps(state, indent=1))
    part.replace(path)


def judged(state: dict[str, Any]) -> list[str]:
    """What did not hold."""
    wrong = []
    if state.get("code") != 0:
        wrong.append(f"the training ended with {state.get('code')}")
    if state.get("weights") != state["bare"]:
        wrong.append("the weights differ from those of the bare training")
    memory = state.get("memory", {})
    if memory and memory["late_mb"] > memory["early_mb"] + MEMORY_LEEWAY:
        wrong.append(f"memory grew from {memory['early_mb']:.0f} to {memory['late_mb']:.0f} MB")
    if state.get("cost") is not None and state["cost"] > COST_LEEWAY * BUDGET:
        wrong.append(f"recording took {state['cost']:.1%} of the time")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", default="soak.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="traindx-soak-") as place:
        folder = Path(place)
        (folder / "train.py").write_text(textwrap.dedent(TRAINING))
        # half of the time for the bare training, which the recorded one is compared with
        steps = steps_for(folder, 30 * asked.minutes, asked.seed)
        mark, seconds = bare(folder, steps, asked.seed)
        state: dict[str, Any] = {"steps": steps, "bare": mark, "bare_seconds": seconds, "elapsed": 0.0}
        state["began"] = time.monotonic()
        soak(folder, steps, asked, state)
    state["wrong"] = judged(state)
    save(asked.state, state)
    print(json.dumps({name: value for name, value in state.items() if name != "began"}, indent=1))
    return 1 if state["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
