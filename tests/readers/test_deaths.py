"""A run that died is never called healthy, whatever its curve looked like until then."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.engine.observe import observe
from traindx.live.recording.store import Store
from traindx.readers.find import find_runs
from traindx.signals import Signals

LINES = [
    f"epoch {i // 20} step {i} loss {2.3 * 0.985**i + 0.2 + 0.02 * ((i * 7919) % 13) / 13:.4f}" for i in range(300)
]
TRACEBACK = (
    'Traceback (most recent call last):\n  File "train.py", line 8, in <module>\n    main()\nValueError: bad shape'
)
ENDS = {
    "traceback": (TRACEBACK, "ValueError: bad shape"),
    "rank": ("[rank0]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1\n[rank0]: RuntimeError: no",
             "RuntimeError: no"),
    "memory": ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out of memory"),
    "nccl": ("[rank3]:[E ProcessGroupNCCL.cpp:563] [Rank 3] Watchdog caught collective operation timeout: "
             "WorkNCCL(SeqNum=12)", "Watchdog"),
    "abort": ("terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  NCCL communicator "
              "was aborted", "DistBackend"),
    "killed": ("Killed", "Killed"),
    "shell": ("run.sh: line 3: 12345 Killed                  python train.py", "Killed"),
    "slurm": ("slurmstepd: error: *** JOB 123 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***",
              "TIME LIMIT"),
    "step": ("slurmstepd: error: Detected 1 oom_kill event in StepId=123.0.", "oom_kill"),
    "srun": ("srun: error: node1: task 0: Killed", "Killed"),
    "elastic": ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED",
                "ChildFailedError"),
    "signal": ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "137"),
    "bus": ("Bus error (core dumped)", "Bus error"),
}  # fmt: skip
SCRIPT = """
import os, signal, torch
x = torch.randn(64, 10)
y = x @ torch.randn(10, 1)
model = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
import traindx
traindx.watch(model, to="kept.traindx").start()
for step in range(200):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    __import__("time").sleep(0.01)
print("here", flush=True)
"""


def page_of(path: Path) -> Diagnosis:
    return diagnose(find_runs([path])[0])


def died(page: Diagnosis) -> str | None:
    return next((symptom.evidence for symptom in page.present() if symptom.id == "run-died"), None)


def test_the_curve_alone_is_healthy(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("\n".join(LINES))
    page = page_of(log)
    assert (page.verdict, died(page)) == ("healthy", None)


@pytest.mark.parametrize("end", ENDS)
def test_a_log_that_ends_in_a_crash_died(tmp_path: Path, end: str) -> None:
    text, word = ENDS[end]
    log = tmp_path / "train.log"
    log.write_text("\n".join([*LINES, text]) + "\n")
    page = page_of(log)
    assert page.verdict == "inconclusive"
    assert word in (died(page) or "")
    assert page.headline == died(page)
    assert any(text.splitlines()[-1].strip()[:60] in note for note in page.notes)


def test_a_crash_that_was_handled_is_no_death(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("\n".join([*LINES[:150], TRACEBACK, "skipping this batch", *LINES[150:]]))
    assert (page_of(log).verdict, died(page_of(log))) == ("healthy", None)
    log.write_text("\n".join([*LINES, TRACEBACK, "Training finished."]))
    assert died(page_of(log)) is None


def recorded(folder: Path, last: str) -> Path:
    subprocess.run([sys.executable, "-c", SCRIPT + last], cwd=folder, check=False, capture_output=True, timeout=120)
    return folder / "kept.traindx"


def test_a_recording_without_its_end_was_killed(tmp_path: Path) -> None:
    page = page_of(recorded(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)"))
    assert page.verdict == "inconclusive"
    assert "end mark" in page.headline


def test_a_recording_with_its_end_was_not(tmp_path: Path) -> None:
    page = page_of(recorded(tmp_path, ""))
    assert (page.verdict, died(page)) == ("healthy", None)


def test_a_recording_that_is_being_written_has_not_died(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT + "input()"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    assert died(page_of(tmp_path / "kept.traindx")) is None
    process.kill()
    process.communicate()
    assert died(page_of(tmp_path / "kept.traindx")) is not None


def test_a_recording_of_another_machine_is_judged_by_its_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    assert died(page_of(folder)) is None
    file = folder / "rank-0.jsonl"
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime - 3600))
    assert died(page_of(folder)) is not None


def test_damaged_marks_are_no_reason_to_fail(tmp_path: Path) -> None:
    folder = recorded(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)")
    file = folder / "rank-0.jsonl"
    first, *rest = file.read_text().splitlines()
    for pid in ("x", -1, 10**30, None, True, []):
        meta = {**json.loads(first), "pid": pid}
        file.write_text("\n".join([json.dumps(meta), *rest]))
        assert page_of(folder).verdict in ("healthy", "inconclusive")


@pytest.mark.parametrize("ended", [True, False])
def test_a_recording_that_was_killed_after_six_updates_is_too_short(tmp_path: Path, ended: bool) -> None:
    store = Store(tmp_path / "run.traindx")
    store.line("meta", schema="traindx.recording/2", argv=["train.py"], world=1)
    for step, loss in enumerate([0.746, 0.70, 0.667, 0.69, 0.72, 0.754]):
        store.row(step, {"train_loss": loss})
    if not ended:
        store.line("event", event="killed", text="ended by SIGKILL")
    store.end()
    (run,) = find_runs([tmp_path / "run.traindx"])
    short = next(one for one in observe(Signals(run)) if one.id == "too-short")
    assert short.state == ("absent" if ended else "present")
