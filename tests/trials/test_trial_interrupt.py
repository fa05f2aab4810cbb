"""Ctrl-C, `kill` and `kill -9` in the middle of `traindx fix`: everything stops, what is known is shown, nothing is
left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keyboard import heeds_ctrl_c
from traindx.trials.interrupting import heeding, interruptible

pytest.importorskip("torch")

SCRIPT = """\
import torch

torch.manual_seed(0)
x = torch.randn(256, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
for epoch in range(25):
    for i in torch.randperm(256).split(32):
        loss = torch.nn.functional.cross_entropy(model(x[i]), y[i])
        loss.backward()
        opt.step()
"""
SECONDS = 120.0


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ctrl_c_keeps_the_verdicts_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    mark = f"of-{os.getpid()}-{time.monotonic_ns()}"
    environment = {**os.environ, "TMPDIR": str(temporary), "TRAINDX_TEST_MARK": mark, "TRAINDX_CASES": "off"}
    command = [sys.executable, "-m", "traindx", "fix", "--jobs", "2", "--seeds", "5", "--json", "out.json", "train.py"]
    running = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=heeds_ctrl_c,
    )  # fmt: skip
    assert running.stderr is not None
    ends = time.monotonic() + SECONDS
    for line in running.stderr:  # the first pair is done: the next arms are at work
        if "call-zero-grad" in line or time.monotonic() > ends:
            break
    time.sleep(0.3)
    running.send_signal(number)
    page, _ = running.communicate(timeout=SECONDS)
    ends = time.monotonic() + SECONDS
    while _marked(mark) and time.monotonic() < ends:
        time.sleep(0.1)
    assert _marked(mark) == []
    assert (tmp_path / "train.py").read_text() == SCRIPT
    if number == signal.SIGKILL:  # nobody can tidy up after it, but nothing runs on
        return
    assert running.returncode == 130
    assert "Stopped by Ctrl-C or a signal" in page
    assert "call-zero-grad" in page
    told = json.loads((tmp_path / "out.json").read_text())
    assert any(trial["fix"] == "call-zero-grad" for trial in told["trials"])
    assert list(temporary.iterdir()) == []


def test_a_signal_ends_what_is_waited_for_and_lets_the_rest_be_finished() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        _finish_what_is_begun()
    finally:
        signal.signal(signal.SIGINT, before)


def _finish_what_is_begun() -> None:
    done = []
    with heeding():
        signal.raise_signal(signal.SIGTERM)
        done.append("judged")
        with pytest.raises(KeyboardInterrupt), interruptible():
            done.append("never")
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):  # somebody insists
            signal.raise_signal(signal.SIGTERM)
        with interruptible():
            done.append("goes on")
    assert done == ["judged", "goes on"]


def _marked(mark: str) -> list[str]:
    """Processes that inherited this mark and still run."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found
