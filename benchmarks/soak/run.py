"""A training under `traindx run` on a bad day, and the same one bare: same weights, flat memory, cost in budget.

    python benchmarks/soak/run.py --minutes 60 [--seed 1] [--state soak.json]

A small language model learns the texts of Python's own library, with a shuffled loader, dropout, clipping, a schedule,
a validation and a checkpoint now and then; its head was forgotten in the optimiser, so that alerts are sent. Bare and
under `traindx run` it trains side by side and prints the hash of its weights at every mark, which must agree. The
recorded one is stopped and continued at random (SIGSTOP, SIGCONT), the disk that its recording lies on fills up and is
freed again (a small file system in memory, where one may be mounted), the clock that the recorder reads jumps by hours
(inside the process: the machine's own is left alone), a dashboard is asked for its pages and `traindx watch` reads
along, and alerts go to an address on this machine that answers slowly. The state is written every few seconds, so that
a soak that is cut short has figures too. Ends with 1 where something
did not hold."""

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
import urllib.request
from pathlib import Path
from typing import Any

BUDGET = 0.01  # of the time, which recording may take by default
COST_LEEWAY = 2.0  # times the budget: a machine that is stopped and stolen from measures roughly
MEMORY_LEEWAY = 40.0  # MB that the training may have grown since its first fifth
DISK_MB = 48
SHUT_AFTER = 120.0  # seconds that the recorded training has to end after the time is up
TRAINING = """
import glob, hashlib, math, os, random, sys, time
stop, seed = sys.argv[1], int(sys.argv[2])
if os.environ.get("SOAK_JUMPS"):  # the clock of this process jumps; what measures durations does not
    real, jumps = time.time, random.Random(seed)
    offset = [0.0]
    def jumping():
        if jumps.random() < 0.001:
            offset[0] += jumps.choice((-7200.0, 3600.0, 86400.0))
        return real() + offset[0]
    time.time = jumping
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(seed); torch.set_num_threads(1); random.seed(seed)
CONTEXT = 32
names = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))[:60]
text = torch.tensor(list(b"".join(open(name, "rb").read() for name in names)), dtype=torch.long).clamp(max=127)
class Pieces(Dataset):
    def __init__(self, data): self.data = data
    def __len__(self): return (len(self.data) - 1) // CONTEXT
    def __getitem__(self, number):
        start = number * CONTEXT
        return self.data[start : start + CONTEXT], self.data[start + 1 : start + CONTEXT + 1]
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(128, 48), nn.Parameter(torch.zeros(CONTEXT, 48))
        layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(48, 128)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT))
    def forward(self, x):
        return self.head(self.blocks(self.embed(x) + self.place, mask=self.mask, is_causal=True))
cut = int(0.9 * len(text))
training = DataLoader(Pieces(text[:cut]), 32, shuffle=True, drop_last=True)
validation = DataLoader(Pieces(text[cut:]), 64)
model = Model()
optimizer = torch.optim.AdamW([p for name, p in model.named_parameters() if "head" not in name], lr=3e-4)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.6 + 0.4 * math.cos(step / 5000))
loss_of = nn.CrossEntropyLoss()
def weights():
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
step = 0
while not os.path.exists(stop):
    for x, y in training:
        loss = loss_of(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(); loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step(); schedule.step()
        step += 1
        if step % 250 == 0:
            print("MARK", step, weights(), round(loss.item(), 4), flush=True)
            if os.path.exists(stop):
                break
        if step % 2000 == 0:
            model.eval()
            with torch.no_grad():
                seen = [loss_of(model(x).flatten(0, 1), y.flatten()).item() for x, y in validation]
            model.train()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, stop + ".pt")
            print("VALIDATION", step, sum(seen) / len(seen), flush=True)
print("ENDED", step, flush=True)
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


def marks(path: Path) -> dict[int, str]:
    """The hash of the weights at each mark that a training has printed."""
    rows = [line.split() for line in path.read_text().splitlines() if line.startswith("MARK ")]
    return {int(row[1]): row[2] for row in rows if len(row) == 4}


def ask(place: str, counts: dict[str, int]) -> None:
    """The dashboard's list, as a browser asks for it: the token of the address becomes a cookie."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        with browser.open(place, timeout=20) as answer:
            answer.read()
            counts["pages"] += 1
    except OSError:
        counts["pages_refused"] += 1


def soak(folder: Path, asked: argparse.Namespace, state: dict[str, Any]) -> None:
    dice = random.Random(asked.seed)
    disk = Disk(folder / "disk")
    alerts = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=alerts.serve_forever, daemon=True).start()
    traindx = [sys.executable, "-m", "traindx"]
    recording = disk.place / "run.traindx"
    program = ["train.py", str(folder / "stop"), str(asked.seed)]
    alone = subprocess.Popen(
        [sys.executable, program[0], str(folder / "alone"), program[2]], cwd=folder, env=environment(False),
        stdout=(folder / "bare").open("w"),
    )  # fmt: skip
    training = subprocess.Popen(
        [*traindx, "run", "--to", str(recording), "--alert", f"http://127.0.0.1:{alerts.server_port}/",
         "--cool-down", "5", *program],
        cwd=folder, env=environment(True), stdout=(folder / "recorded").open("w"),
        stderr=(folder / "said").open("w"), text=True,
    )  # fmt: skip
    beside = {
        words[0]: subprocess.Popen(
            [*traindx, *words], cwd=folder, env=environment(False), stdout=(folder / words[0]).open("w"),
            stderr=subprocess.STDOUT, start_new_session=True,
        )
        for words in (["serve", str(disk.place), "--port", "0"], ["watch", str(disk.place)])
    }  # fmt: skip
    memory: list[float] = []
    counts = {"stops": 0, "fills": 0, "pages": 0, "pages_refused": 0}
    try:
        while training.poll() is None:
            time.sleep(dice.uniform(0.5, 3.0))
            if state["elapsed"] > 60 * asked.minutes:
                (folder / "stop").touch()
                if state["elapsed"] > 60 * asked.minutes + SHUT_AFTER:
                    training.kill()
            children = processes_below(training.pid)
            memory.append(max(map(memory_of, children), default=0.0))
            if children and dice.random() < 0.3:
                counts["stops"] += 1
                stopped(dice.choice(children), dice.uniform(0.1, 1.5))
            if dice.random() < 0.02:
                counts["fills"] += 1
                disk.fill()
                time.sleep(dice.uniform(1, 6))
                disk.free()
            address = re.search(r"http://\S+", (folder / "serve").read_text())
            if address and dice.random() < 0.2:
                ask(address.group(), counts)
            state["elapsed"] = time.monotonic() - state["began"]
            state["beside_ended"] = [name for name, process in beside.items() if process.poll() is not None]
            state.update(memory=summary(memory), **counts, alerts=Slow.taken, disk=disk.mounted)
            state.update(compared(folder))
            save(asked.state, state)
        state["code"] = training.returncode
        state["cost"], state["dropped"] = cost_in(recording)
        state["said"] = [line for line in (folder / "said").read_text().splitlines() if line.startswith("traindx:")]
        state["verdict"] = verdict_of(recording, folder)
        last = max(marks(folder / "recorded"), default=0)
        while alone.poll() is None and max(marks(folder / "bare"), default=0) < last:
            time.sleep(1)
        state.update(compared(folder))
    finally:
        alone.kill()
        for process in beside.values():
            process.terminate()
        alerts.shutdown()
        disk.close()


def stopped(process: int, seconds: float) -> None:
    for number in (signal.SIGSTOP, signal.SIGCONT):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return
        time.sleep(seconds)


def compared(folder: Path) -> dict[str, int]:
    """How many marks both trainings have reached, at how many their weights agree, and the last mark of each."""
    one, other = marks(folder / "bare"), marks(folder / "recorded")
    both = one.keys() & other.keys()
    return {
        "marks": len(both),
        "marks_alike": sum(one[step] == other[step] for step in both),
        "steps_bare": max(one, default=0),
        "steps_recorded": max(other, default=0),
    }


def verdict_of(recording: Path, folder: Path) -> str:
    """What `traindx diagnose` says of what was recorded."""
    done = subprocess.run(
        [sys.executable, "-m", "traindx", "diagnose", "--format", "json", str(recording)], cwd=folder,
        env=environment(False), capture_output=True, text=True,
    )  # fmt: skip
    found = re.search(r'"verdict": "(\w+)"', done.stdout)
    return f"{found.group(1) if found else done.stderr.strip()[-300:]} (exit code {done.returncode})"


def summary(memory: list[float]) -> dict[str, float]:
    fifth = max(1, len(memory) // 5)
    early, late = sorted(memory[fifth : 2 * fifth] or memory), sorted(memory[-fifth:])
    return {"early_mb": early[len(early) // 2], "late_mb": late[len(late) // 2], "most_mb": max(memory)}


def cost_in(recording: Path) -> tuple[float | None, int]:
    """The share of the time that recording took, as it last said itself, and the lines that full disks have cost."""
    found, dropped = None, 0
    for path in recording.glob("rank-*.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            if line.startswith(('{"k": "cost"', '{"k": "dropped"')):
                entry = json.loads(line)
                found = entry.get("share", found)
                dropped += entry.get("lines", 0)
    return found, dropped


def save(path: str, state: dict[str, Any]) -> None:
    part = Path(f"{path}.part")
    part.write_text(json.dumps(state, indent=1))
    part.replace(path)


def judged(state: dict[str, Any]) -> list[str]:
    """What did not hold."""
    wrong = []
    if state.get("code") != 0:
        wrong.append(f"the training ended with {state.get('code')}")
    if not state.get("marks") or state["marks"] != state["marks_alike"]:
        wrong.append(
            f"the weights agree with the bare training's at {state.get('marks_alike')} of {state.get('marks')}"
        )
    if state.get("beside_ended"):
        wrong.append(f"{' and '.join(state['beside_ended'])} ended before the training")
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
        state: dict[str, Any] = {"elapsed": 0.0, "began": time.monotonic()}
        soak(folder, asked, state)
    state["wrong"] = judged(state)
    save(asked.state, state)
    print(json.dumps({name: value for name, value in state.items() if name != "began"}, indent=1))
    return 1 if state["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
