"""Whatever function of the recorder fails: the training ends with the same weights and hears nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "failing_recorder.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each fault happens in a process of its own")
@pytest.mark.parametrize("every", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_a_fault_anywhere_is_not_the_trainings(every: int) -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), str(every)], capture_output=True, text=True, timeout=3000)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["functions"] > 500
    assert found["noticed"] == []
