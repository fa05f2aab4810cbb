"""`traindx run --push`: the script's own trackers learn the diagnosis before their runs end, and from nobody else."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTY = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3), torch.nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
def train(log=print):
    for step in range(150):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        log(loss.item())
"""
# a tracker with the same shape as trackio's, one whose run is left open, and one that fails
FAKES = {
    "trackio.py": """
import enum
class AlertLevel(enum.Enum): INFO = 'info'; WARN = 'warn'
class context_vars:
    class current_run:
        run = None
        get = staticmethod(lambda: context_vars.current_run.run)
def init(): context_vars.current_run.run = object()
def finish(): print('trackio ends'); context_vars.current_run.run = None
def alert(title, text, level): print('trackio alert', level.value, title, '|', text)
""",
    "mlflow.py": """
import atexit
class Run:
    class info: run_id = 'r1'
run = None
def active_run(): return run
def start_run():
    global run
    run = Run
    atexit.register(end_run)
def end_run():
    global run
    print('mlflow ends'); run = None
def set_tags(tags): print('mlflow tags', sorted(tags))
def log_text(text, path): raise OSError('no room for artifacts')
""",
}
WITH_FAKES = f"""
import mlflow
{FAULTY}
import trackio
trackio.init()
mlflow.start_run()
train(lambda loss: None)
trackio.finish()
"""
WITH_REAL = {
    "wandb": "import wandb\nrun = wandb.init(mode='offline', project='p')\ntrain(lambda loss: run.log({'loss': "
    "loss}))\nrun.finish()",
    "tensorboard": "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('tb')\n"
    "train(lambda loss: writer.add_scalar('loss', loss))",
    "mlflow": "import mlflow\nwith mlflow.start_run():\n    train(lambda loss: mlflow.log_metric('loss', loss))",
    "trackio": "import trackio\ntrackio.init(project='p')\ntrain(lambda loss: trackio.log({'loss': "
    "loss}))\ntrackio.finish()",
}


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "traindx", "run", "-q", *options, "train.py"]
    environment = {
        **os.environ, "TRACKIO_DIR": str(folder / "trackio"), "MLFLOW_TRACKING_URI": f"file:{folder}/mlruns",
        "MLFLOW_ALLOW_FILE_STORE": "true",
    }  # fmt: skip
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)


def test_open_runs_are_told_once_right_before_they_end_and_faults_stay_ours(tmp_path: Path) -> None:
    for name, text in {**FAKES, "train.py": WITH_FAKES}.items():
        (tmp_path / name).write_text(text)
    done = run(tmp_path, "--push")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["trackio", "alert"], ["trackio", "ends"], ["mlflow", "tags"], ["mlflow", "ends"],
    ]  # fmt: skip
    assert "warn traindx: softmax applied before cross-entropy" in lines[0]
    assert "'traindx.cause'" in lines[2]
    assert "nothing was pushed to mlflow (OSError: no room for artifacts)" in done.stderr
    assert [line for line in run(tmp_path).stdout.splitlines() if "alert" in line or "tags" in line] == []


@pytest.mark.parametrize("tracker", WITH_REAL)
def test_the_real_libraries_take_it(tmp_path: Path, tracker: str) -> None:
    if importlib.util.find_spec(tracker) is None:
        pytest.skip(f"{tracker} is not installed")
    (tmp_path / "train.py").write_text(FAULTY + WITH_REAL[tracker])
    done = run(tmp_path, "--push")
    assert done.returncode == 0, done.stderr
    assert "nothing was pushed" not in done.stderr
    written = [
        path for path in tmp_path.rglob("*") if path.is_file() and ".traindx" not in str(path) and path.suffix != ".py"
    ]
    assert any(b"softmax" in path.read_bytes() for path in written)
