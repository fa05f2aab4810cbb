"""`traindx run` where the interpreter, the environment or the disk stand in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from traindx.live.host.launch import HOOK, reaching

TRAIN = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(torch.ones(8, 4)), torch.zeros(8, 3))
    loss.backward()
    optimizer.step()
print(__name__, __file__, sys.argv, repr(loss.item()))
1 / int(sys.argv[2])
"""
INSIDE = str(HOOK / "inside.py")


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "traindx", "run", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["python", "train.py", "-I"], ["python", "train.py", "-I"]),
        (["python", "-u", "-m", "train"], ["python", "-u", "-m", "train"]),
        (["python", "-W", "-I", "train.py"], ["python", "-W", "-I", "train.py"]),
        (["torchrun", "-I", "train.py"], ["torchrun", "-I", "train.py"]),
        (["/usr/bin/python3.12", "-I", "a.py", "x"], ["/usr/bin/python3.12", "-I", INSIDE, "a.py", "x"]),
        (["python3", "-uE", "-X", "dev", "a.py"], ["python3", "-uE", "-X", "dev", INSIDE, "a.py"]),
        (["python", "-Wignore", "-S", "a.py"], ["python", "-Wignore", "-S", INSIDE, "a.py"]),
        (["python", "-Im", "a.b", "-c"], ["python", "-I", INSIDE, "-m", "a.b", "-c"]),
        (["python", "-E", "-cpass", "1"], ["python", "-E", INSIDE, "-c", "pass", "1"]),
        (["python", "-I"], ["python", "-I"]),
    ],
)
def test_only_interpreters_that_ignore_the_recorder_are_given_it_otherwise(
    command: list[str], expected: list[str]
) -> None:
    assert reaching(command) == expected


def test_an_isolated_interpreter_is_recorded_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    bare = subprocess.run([sys.executable, "-I", "train.py", "40", "0"], cwd=tmp_path, capture_output=True, text=True)
    result = run(tmp_path, "--to", "r.traindx", "--", sys.executable, "-I", "train.py", "40", "0")
    assert result.stdout == bare.stdout
    assert result.returncode == bare.returncode == 1
    assert result.stderr.startswith(bare.stderr)  # the same traceback, and then the page
    assert "40 steps" in result.stderr


def test_a_sitecustomize_of_the_users_own_and_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    own = tmp_path / "own"
    own.mkdir()
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    (own / "sitecustomize.py").write_text(f"print('mine')\n{limit}\n")
    bare = subprocess.run(
        [sys.executable, "train.py", "4000", "1"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(own)},
    )  # fmt: skip
    result = run(tmp_path, "--to", "r.traindx", "--", sys.executable, "train.py", "4000", "1", PYTHONPATH=str(own))
    assert result.returncode == 0
    assert result.stdout.count("mine") == 2  # traindx itself and the training
    assert result.stdout.endswith(bare.stdout.removeprefix("mine\n"))
    assert result.stderr.count("stopped recording") == 1
    assert "traindx ·" in result.stderr  # what was written before is diagnosed
    assert (tmp_path / "r.traindx" / "rank-0.jsonl").stat().st_size <= 20_000


def test_a_command_that_leaves_the_recorder_behind_is_told(tmp_path: Path) -> None:
    result = run(tmp_path, "--to", "r.traindx", "--", "env", "-i", sys.executable, "-c", "print('hello')")
    assert (result.returncode, result.stdout) == (0, "hello\n")
    assert "no Python process of this command took up the recorder" in result.stderr


def test_a_directory_that_cannot_be_written_costs_one_line(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nw = torch.nn.Linear(2, 1); o = torch.optim.SGD(w.parameters(), 0.1)\n"
        "w(torch.ones(4, 2)).mean().backward(); o.step(); print('trained')\n"
    )
    (tmp_path / "file").write_text("no directory")
    command = [sys.executable, "-m", "traindx", "run", "--to", str(tmp_path / "file" / "r.traindx"), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.count("traindx:") == 1
    assert "not recording: cannot write" in done.stderr
