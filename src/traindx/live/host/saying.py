"""The recorder's few words on stderr, from inside the user's process: whatever has become of that stream, they never
reach the training as an error."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    """One line. A stream that is closed, full or gone swallows it."""
    with contextlib.suppress(Exception):
        if sys.stderr is not None:  # `print` would take stdout then
            print(f"traindx: {text}", file=sys.stderr)
