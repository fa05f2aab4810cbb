"""`traindx run` beside the bare script: streams that are closed or full, signals, and a kill at any update."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from traindx.engine import diagnose
from traindx.readers.find import find_runs

TRAINING = """
import os, signal, sys, time, torch
torch.manual_seed(0); torch.set_num_threads(1)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.arange(32) % 2
for step in range(STEPS):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    AFTER
open("weights", "w").write(str(model.weight.double().sum().item()))
"""
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU")
ENVIRONMENT = {**os.environ, "TRAINDX_CASES": "off", "OMP_NUM_THREADS": "1"}


def script(folder: Path, steps: int, after: str = "pass", end: str = "") -> None:
    (folder / "train.py").write_text(TRAINING.replace("STEPS", str(steps)).replace("AFTER", after) + end)


@pytest.mark.parametrize(
    "streams", [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full", ">/dev/full 2>/dev/full", "| true"]
)
def test_streams_change_neither_the_training_nor_its_exit_code(tmp_path: Path, streams: str) -> None:
    script(tmp_path, 30, end="import sys\nsys.exit(7)\n")
    command = f"{sys.executable} -m traindx run --to run.traindx train.py {streams}"
    shell = f"set -o pipefail; {command}" if streams.startswith("|") else command
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 7
    assert (tmp_path / "weights").exists()
    assert find_runs([tmp_path / "run.traindx"])[0].steps == 30


def as_in_a_terminal() -> None:
    """A shell starts what runs in its background with some signals ignored."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_to_traindx_alone_act_as_on_the_script(tmp_path: Path, name: str) -> None:
    script(tmp_path, 2000, "open('begun', 'w'); time.sleep(0.01)")
    number = getattr(signal, name)
    codes = []
    for command in (["train.py"], ["-m", "traindx", "run", "-q", "--to", "run.traindx", "train.py"]):
        (tmp_path / "begun").unlink(missing_ok=True)
        process = subprocess.Popen(
            [sys.executable, *command], cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=as_in_a_terminal,
        )  # fmt: skip
        ends = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < ends:
            time.sleep(0.05)
        os.kill(process.pid, number)
        code = process.wait(timeout=30)
        codes.append(code if code >= 0 else 128 - code)
    assert codes[0] == codes[1] == 128 + number


@pytest.mark.parametrize("updates", [1, 2, 3, 6, 9, 40])
def test_a_kill_loses_one_update_at_most(tmp_path: Path, updates: int) -> None:
    pause = "time.sleep(0.05)" if updates > 8 else "0"
    script(tmp_path, 1000, f"{pause}; step + 1 < {updates} or os.kill(os.getpid(), signal.SIGKILL)")
    command = [sys.executable, "-m", "traindx", "run", "-q", "--to", "run.traindx", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, timeout=120)
    assert done.returncode == 137
    (run,) = find_runs([tmp_path / "run.traindx"])
    lost = updates - len(run.series["train_loss"])
    assert lost <= (1 if updates < 9 else 20)  # one update, or the second that twenty of them take
    assert run.died is not None
    assert diagnose(run).verdict == "inconclusive"
