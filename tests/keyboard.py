"""Ctrl-C in tests."""

from __future__ import annotations

import signal


def heeds_ctrl_c() -> None:
    """For a child process: a test run in the background of a shell hands down that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
