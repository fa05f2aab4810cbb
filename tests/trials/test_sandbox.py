"""An arm of a trial cannot write outside its copy, by whatever means, nor use the network."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from ways_out import through

from traindx.cli import main
from traindx.trials import sandbox
from traindx.trials.job import Job, perform
from traindx.trials.sandbox import Limits, Sandbox, choice, choose, python, sandboxes
from traindx.trials.sandbox.choice import wrapped
from traindx.trials.workspace import Copy, Project

# sixteen ways to change something in a directory, each a statement over `other`, a directory that holds the file `kept`
WAYS = {
    "open": "open(other + '/new', 'w')",
    "append": "open(other + '/kept', 'a').write('x')",
    "os.open": "os.open(other + '/new', os.O_CREAT | os.O_WRONLY)",
    "subprocess": "subprocess.run(['touch', other + '/new'], check=True, stderr=-3)",
    "os.system": "assert os.system(f'touch {other}/new 2>/dev/null') == 0",
    "spawned Python": "subprocess.run([sys.executable, '-c', f'open({other!r}+\"/n\",\"w\")'], check=True, stderr=-3)",
    "ctypes": "assert ctypes.CDLL(None).creat((other + '/new').encode(), 0o644) >= 0",
    "rename": "os.rename(other + '/kept', other + '/moved')",
    "remove": "os.remove(other + '/kept')",
    "truncate": "os.truncate(other + '/kept', 0)",
    "link": "os.link(other + '/kept', other + '/new')",
    "symlink": "os.symlink('kept', other + '/new')",
    "mkdir": "os.mkdir(other + '/new')",
    "mkfifo": "os.mkfifo(other + '/new')",
    "chmod": "os.chmod(other + '/kept', 0o777)",
    "utime": "os.utime(other + '/kept', (1, 1))",
}
NOT_BY_LANDLOCK = {"chmod", "utime"}
BEYOND_LANDLOCK = {  # as SECURITY.md says
    "System V shared memory", "/dev/shm", "helper at a socket", "helper at a datagram socket",
    "helper at an abstract socket",
    "helper by UDP", "extended attribute", "inode flags", "owner and mode", "signal",
}  # fmt: skip
TRIED = """
import ctypes, os, subprocess, sys
other = sys.argv[1]
try:
    {way}
except BaseException:
    sys.exit(0)
print("got through")
"""
HOLDING = [one for one in sandboxes() if one.by_system and choice._holds(one.id)]


def state_of(folder: Path) -> list[tuple[str, int, float, bytes]]:
    found = sorted(path for path in folder.iterdir())
    return [(path.name, path.lstat().st_mode, path.lstat().st_mtime, path.read_bytes()) for path in found]


@pytest.mark.skipif(not HOLDING, reason="this system has neither namespaces nor Landlock")
@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_out(tmp_path: Path, way: str) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "kept").write_text("content")
    before = state_of(other)
    for held in HOLDING:
        if held.id == "landlock" and way in NOT_BY_LANDLOCK:
            continue
        inside = [sys.executable, "-S", "-c", TRIED.format(way=WAYS[way]), str(other)]
        done = subprocess.run(
            wrapped(held.id, Limits((str(own),)), inside), cwd=own, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert "got through" not in done.stdout, held.id
        assert state_of(other) == before, held.id


@pytest.mark.skipif(not HOLDING, reason="this system has neither namespaces nor Landlock")
def test_ways_that_no_file_call_shows() -> None:
    assert len(through(None)) > 30  # they are ways indeed
    for held in HOLDING:
        assert set(through(held.id)) <= (BEYOND_LANDLOCK if held.id == "landlock" else set()), held.id


@pytest.mark.parametrize("held", HOLDING, ids=lambda held: held.id)
def test_the_network_is_off_unless_asked_for(tmp_path: Path, held: Sandbox) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = [sys.executable, "-S", "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"]
        for network in (False, True):
            command = wrapped(held.id, Limits((str(tmp_path),), network), reach)
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60)
            assert (done.returncode == 0) == network, done.stderr


SCRIPT = """
import os, subprocess, tempfile, torch
root = os.environ["PROJECT"]
for command in (f"echo x > {root}/by-shell", f"rm -f {root}/kept"):
    os.system(command)
torch.save({}, "weights.pt")
open(os.path.join(tempfile.mkdtemp(), "a"), "w").close()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
print("trained")
"""


@pytest.mark.skipif(not HOLDING, reason="this system has neither namespaces nor Landlock")
def test_a_trial_trains_in_its_copy_and_leaves_everything_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "kept").write_text("content")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROJECT", str(tmp_path))
    project = Project.of(["train.py"])
    before = project.fingerprint()
    result = perform(Job((sys.executable, "train.py"), project, steps=50, seconds=60.0))
    assert "trained" in result.said, result.said
    assert result.files
    assert project.fingerprint() == before


def test_special_files_are_copied_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text("")
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    copy = Copy(Project.of(["train.py"]), tmp_path / "arm")
    copy.make({})
    assert (copy.root / "pipe").is_fifo()
    assert not (copy.root / "pipe").is_symlink()


def test_on_the_weakest_nobody_is_surprised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sandbox, "choose", lambda: python.SANDBOX)
    (tmp_path / "train.py").write_text("raise SystemExit(0)")
    monkeypatch.chdir(tmp_path)
    for command in (["fix", "train.py", "--yes"], ["trial", "train.py", "--set", "lr=1", "--yes"]):
        assert main(command) == 2
        assert "--trust" in capsys.readouterr().err


def test_what_holds_here_was_tried_out() -> None:
    assert choose() in sandboxes()
    assert choose().by_system == bool(HOLDING)
