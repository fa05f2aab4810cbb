"""Whether the process that writes a recording still runs: one that was killed leaves no end mark, and neither does one
that has not ended."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path
from typing import Any

SILENT_SECONDS = 600.0  # a recording is written about once a second; an update of ten minutes is not known


def host_mark() -> str:
    """Tells machines apart without naming them."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:12]


def may_be_running(meta: dict[str, Any], path: Path) -> bool:
    """By its process, on the machine that it runs on; from another one by the time since it last wrote."""
    pid = meta.get("pid")
    if meta.get("host") == host_mark() and isinstance(pid, int) and not isinstance(pid, bool):
        return _exists(pid)
    try:
        return time.time() - path.stat().st_mtime < SILENT_SECONDS
    except OSError:
        return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError, ValueError):
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Ended, and its parent has not asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False
