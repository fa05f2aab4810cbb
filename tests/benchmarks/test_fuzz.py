"""A stretch of the fuzz over every format; benchmarks/fuzz/run.py goes further."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_changed_files_of_every_format_end_in_a_page_or_a_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/fuzz/run.py", "--inputs", "4000", "--seed", "11", "--seconds", "20"]
    places = ["--state", str(tmp_path / "state.json"), "--corpus", str(tmp_path / "corpus")]
    done = subprocess.run([*command, *places], cwd=ROOT, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout[-4000:]
