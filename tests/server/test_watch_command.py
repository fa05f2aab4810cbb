"""`traindx watch`: lines where there is no terminal, a screen that keys drive where there is one, and the terminal as
it was after it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from traindx.cli import main

SICK = Path(__file__).parents[2] / "examples"
PATIENCE = 40.0
STYLED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_once_tells_one_line_a_run_and_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(SICK), "--once"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "mistake/train.traindx  UNHEALTHY" in lines[0]
    assert "sick/metrics.csv  UNHEALTHY" in lines[1]
    assert "healthy/metrics.csv  HEALTHY" in lines[2]
    assert main(["watch", str(SICK / "healthy"), "--once"]) == 0
    assert main(["watch", "no-such-place"]) == 2


def test_without_a_terminal_every_change_is_a_line(tmp_path: Path) -> None:
    log = tmp_path / "metrics.csv"
    falling = [2 * 0.97**i + 0.3 for i in range(120)]
    log.write_text("step,train_loss\n" + "".join(f"{i},{loss}\n" for i, loss in enumerate(falling)))
    with subprocess.Popen(
        [sys.executable, "-m", "traindx", "watch", str(log)], stdout=subprocess.PIPE, text=True
    ) as watch:
        assert watch.stdout is not None
        try:
            assert "119 steps" in watch.stdout.readline()
            with log.open("a") as file:
                file.writelines(f"{120 + i},{0.5 * i}\n" for i in range(80))
            assert "UNHEALTHY" in watch.stdout.readline()
        finally:
            watch.terminate()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("terminal", ["xterm-256color", "screen"])  # what SSH brings along, and what tmux sets
def test_on_a_terminal_keys_choose_open_and_end(terminal: str) -> None:
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
    before = termios.tcgetattr(theirs)
    measured = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**measured, "TERM": terminal, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "traindx", "watch", str(SICK)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment) as watch:
        seen = ""

        def until(pattern: str) -> None:
            nonlocal seen
            deadline = time.monotonic() + PATIENCE
            while not re.search(pattern, STYLED.sub("", seen)):
                assert time.monotonic() < deadline, seen[-2000:]
                seen += os.read(ours, 65536).decode("utf-8", "replace")

        try:
            until("2 unhealthy, 1 healthy")
            until("9[0-9] % softmax applied")
            small = struct.pack("HHHH", 12, 50, 0, 0)  # the window, or the pane
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, small)
            until("most likely +changed")
            began, seen = seen, ""
            os.write(ours, b"\r")  # the one that needs attention most, though the other may have been read first
            until("UNHEALTHY")
            until("more lines")
            os.write(ours, b"\x1b[B" * 9)
            until("Also")
            assert (
                max(map(len, STYLED.sub("", seen.replace("\x1b[H", "\n")).split("\n"))) <= 51
            )  # and the carriage return
            os.write(ours, b"q")
            assert watch.wait(timeout=PATIENCE) == 1
        finally:
            watch.kill()
    assert termios.tcgetattr(theirs) == before
    assert "\x1b[?1049h" in began  # the other screen, so that what was there comes back
    assert "\x1b[31m" not in began + seen
    os.close(ours)
    os.close(theirs)
