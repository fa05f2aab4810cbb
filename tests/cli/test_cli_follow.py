"""`--follow`: one page, then one line a change; little work, and a clean end."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keyboard import heeds_ctrl_c
from traindx.cli import main
from traindx.cli.follow import WatchedPaths, observe
from traindx.signals import Settings

Log = Callable[..., Path]


def steps_of(path: Path, contents: list[bytes]) -> Callable[[float], None]:
    """A sleep that writes the next content instead of sleeping, and interrupts when there is none left."""
    left = iter(contents)

    def sleep(_: float) -> None:
        content = next(left, None)
        if content is None:
            raise KeyboardInterrupt
        path.write_bytes(content)

    return sleep


def followed(path: Path, contents: list[bytes], monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr("traindx.cli.follow.time.sleep", steps_of(path, contents))
    return main(["diagnose", str(path), "--follow", *options])


def test_page_then_one_line_a_change(
    log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log("a.csv")
    more, sick = log("b.csv", steps=70).read_bytes(), log("c.csv", sick=True).read_bytes()
    assert followed(path, [more, sick, more], monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("HEALTHY")
    changes = [line for line in lines if line.startswith("step ")]
    assert len(changes) == 4
    assert "UNHEALTHY (learning rate too high, 80 %), was healthy" in changes[0]
    assert "+ divergence" in changes[1]
    assert "HEALTHY, was unhealthy" in changes[2]
    assert "- divergence is gone" in changes[3]


def test_exit_code_is_that_of_the_last_diagnosis(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    path = log("a.csv")
    assert followed(path, [log("c.csv", sick=True).read_bytes()], monkeypatch) == 1


def test_json_is_one_line_a_change(
    log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log("a.csv")
    followed(path, [path.read_bytes(), log("c.csv", sick=True).read_bytes()], monkeypatch, "--format", "json")
    verdicts = [json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()]
    assert verdicts == ["healthy", "unhealthy"]


def test_waits_for_a_file_that_is_still_empty(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new.csv"
    path.touch()
    assert followed(path, [b"", log("a.csv").read_bytes()], monkeypatch) == 0
    captured = capsys.readouterr()
    assert captured.err.count("Waiting for more") == 1
    assert "HEALTHY" in captured.out


def test_nothing_ever_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new.csv"
    path.touch()
    assert followed(path, [], monkeypatch) == 2
    assert main(["diagnose", str(tmp_path / "nowhere"), "--follow"]) == 2


def test_file_is_rewritten_at_every_change(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "report.json"
    followed(log("a.csv"), [log("c.csv", sick=True).read_bytes()], monkeypatch, "-o", str(report))
    assert json.loads(report.read_text())["verdict"] == "unhealthy"


def test_rests_nine_times_as_long_as_it_works(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    naps: list[float] = []

    def sleep(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("traindx.cli.follow.time.sleep", sleep)
    started = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        for _ in observe(WatchedPaths([log("a.csv")], None), Settings(), pause=0.0):
            pass
    worked = time.process_time() - started
    assert sum(naps) >= 5 * worked


def test_stdin_ends_the_watch(log: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(log("a.csv", sick=True).read_bytes())))
    assert main(["diagnose", "-", "--follow"]) == 1
    assert "UNHEALTHY" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_it_quietly(log: Log) -> None:
    command = [sys.executable, "-m", "traindx", "diagnose", str(log("a.csv")), "--follow"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeds_ctrl_c
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("traindx ·")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode in (0, 1)
    assert err == ""
