"""Which mechanism holds on this machine, found out by trying: a process enters it and attempts what it should not be
able to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from traindx.trials.sandbox import landlock, namespaces, python
from traindx.trials.sandbox.base import Limits, Sandbox

START = Path(__file__).with_name("start.py")
HELD = 42  # the exit code of a process that could not write where it should not
PATIENCE = 30.0
_TRIED = f"""
import os, sys
own, other = sys.argv[1:]
open(os.path.join(own, "mine"), "w").close()
try:
    open(os.path.join(other, "not mine"), "w").close()
except OSError:
    sys.exit({HELD})
"""


def sandboxes() -> tuple[Sandbox, ...]:
    """All mechanisms, the strongest first."""
    return namespaces.SANDBOX, landlock.SANDBOX, python.SANDBOX


def enter(id: str, limits: Limits) -> None:
    """Apply a mechanism to this process. Raises OSError where it cannot be."""
    next(sandbox for sandbox in sandboxes() if sandbox.id == id).enter(limits)


def wrapped(id: str, limits: Limits, command: Sequence[str]) -> list[str]:
    """A command that enters the mechanism and then becomes the given one."""
    return [sys.executable, "-I", str(START), id, json.dumps(asdict(limits)), *command]


@cache
def choose() -> Sandbox:
    """The strongest mechanism that holds here."""
    return next(sandbox for sandbox in sandboxes() if not sandbox.by_system or _holds(sandbox.id))


def _holds(id: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="traindx-sandbox-") as place:
        own, other = os.path.join(place, "own"), os.path.join(place, "other")
        os.mkdir(own)
        os.mkdir(other)
        command = wrapped(id, Limits((own,)), [sys.executable, "-I", "-S", "-c", _TRIED, own, other])
        try:
            done = subprocess.run(
                command, cwd=own, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == HELD and not os.listdir(other)
