"""Findings for the trackers a training already writes to, one file a tracker. Only where `--push` asked for it, only
through the run or writer that the script itself has opened, and only when that is about to end."""

from __future__ import annotations

from functools import cache

from traindx.live.pushing.base import Tracker
from traindx.registry import load_units


@cache
def trackers() -> dict[str, Tracker]:
    """Every tracker by its name."""
    return load_units(__name__, __path__, "TRACKER", Tracker)  # type: ignore[type-abstract]
