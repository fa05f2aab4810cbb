"""The pictures of the README are drawn from what the product prints and what the benchmarks say today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_pictures_are_up_to_date() -> None:
    draw = ROOT / "docs" / "images" / "draw.py"
    done = subprocess.run([sys.executable, str(draw), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "+ return self.head" in (ROOT / "docs" / "images" / "terminal.svg").read_text("utf-8")
