"""The status line of `traindx run` on a real pseudo-terminal, whose screen is drawn here as a terminal would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from traindx.cli.status_line import _fitted

ROWS, COLUMNS = 12, 70
PIECE = re.compile(r"\033\[[0-9;?]*[A-Za-z]|\033.|[\r\n]|[^\033\r\n]+")
SCRIPT = """
import sys, time, torch
x = torch.randn(64, 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(60):
    loss = (model(x) - x[:, :1]).square().mean()
    loss.backward(); optimizer.step(); time.sleep(0.04)
    sys.stderr.write(f"\\rbar {step:3d}/60 " + "#" * (step // 2)); sys.stderr.flush()
    if step % 20 == 19:
        print(f"\\nepoch {step // 20} done", flush=True)
print("end of the script")
"""


class Screen:
    """What a terminal shows: the sequences that the status line and progress bars use, and nothing else."""

    def __init__(self) -> None:
        self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0
        self.bottom = ROWS - 1  # of the part that scrolls
        self.saved = (0, 0)
        self.lines_seen: set[str] = set()

    def _down(self) -> None:
        if self.row == self.bottom:
            self.rows.insert(self.bottom + 1, [" "] * COLUMNS)
            del self.rows[0]
        elif self.row < ROWS - 1:
            self.row += 1

    def feed(self, text: str) -> None:
        for piece in PIECE.findall(text):
            if piece == "\r":
                self.column = 0
            elif piece in ("\n", "\033D"):
                self._down()
            elif piece == "\0337":
                self.saved = (self.row, self.column)
            elif piece == "\0338":
                self.row, self.column = self.saved
            elif piece.startswith("\033["):
                self._control(piece[-1], [int(one) for one in re.findall(r"\d+", piece)])
            elif not piece.startswith("\033"):
                self._print(piece)
            self.lines_seen |= {"".join(row).rstrip() for row in self.rows}

    def _control(self, kind: str, given: list[int]) -> None:
        if kind == "r":
            self.bottom, self.row, self.column = (given[1] if given else ROWS) - 1, 0, 0
        elif kind == "H":
            self.row, self.column = given[0] - 1, given[1] - 1
        elif kind == "A":
            self.row = max(0, self.row - (given[0] if given else 1))
        elif kind == "K":
            start = 0 if given == [2] else self.column
            self.rows[self.row][start:] = [" "] * (COLUMNS - start)

    def _print(self, text: str) -> None:
        for letter in text:
            if self.column == COLUMNS:
                self._down()
                self.column = 0
            self.rows[self.row][self.column] = letter
            self.column += 1


def shown(command: list[str], folder: Path) -> Screen:
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    child = subprocess.Popen(command, cwd=folder, env=environment, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    screen, deadline = Screen(), time.monotonic() + 120
    data = b""
    while time.monotonic() < deadline:
        try:
            if select.select([main], [], [], 0.2)[0]:
                data += os.read(main, 65536)
            elif child.poll() is not None:
                break
        except OSError:  # all who had the terminal open are gone
            break
    assert child.wait(timeout=10) == 0
    os.close(main)
    screen.feed(data.decode("utf-8", "replace"))
    return screen


def test_the_status_line_and_the_output_of_the_script_never_share_a_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    screen = shown([sys.executable, "-m", "traindx", "run", "train.py"], tmp_path)
    status = {line for line in screen.lines_seen if "steps/s" in line}
    assert status
    assert all(line.startswith("traindx: step") for line in status)
    bars = {line for line in screen.lines_seen if "bar " in line}
    assert bars
    assert all(re.fullmatch(r"bar +\d+/60( #+)?", line) for line in bars)
    assert {"epoch 0 done", "epoch 1 done", "end of the script"} <= screen.lines_seen
    assert screen.bottom == ROWS - 1, "the last row was not given back"
    # gradients are never cleared: the alert is one line that ends with the name of what was seen
    alerts = [line for line in screen.lines_seen if line.endswith("(gradients-not-cleared)")]
    assert [line for line in alerts if re.match(r"traindx: step \d+: .*… \(gradients-not-cleared\)$", line)]


@pytest.mark.parametrize(
    ("text", "room", "line"),
    [
        ("short (id)", 20, "short (id)"),
        ("a sentence, that is too long (id)", 20, "a sentence, th… (id)"),
        ("no brackets at all here", 10, "no bracke…"),
        ("f(x) is long and goes on", 10, "f(x) is l…"),
    ],
)
def test_an_alert_is_one_line(text: str, room: int, line: str) -> None:
    found = _fitted(text, room)
    assert len(found) <= room
    assert found == line
