"""What of a machine leads out of a directory without being a file in it: devices, and sockets that somebody listens
on."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

SOCKETS = "/proc/net/unix"
FIELDS = 8  # of a line there; the last is the path
KERNELS_OWN = {4, 7, 10}  # majors of consoles, their memory, and of what manages disks and machines


def devices() -> tuple[list[str], list[str]]:
    """Those that a program without privileges may write to (the null device, terminals, GPUs), and all others: disks,
    consoles, memory and the log of the kernel."""
    plain: list[str] = []
    other: list[str] = []
    for path, status in _nodes("/dev"):
        by_group = status.st_mode & stat.S_IWGRP and status.st_gid and os.major(status.st_rdev) not in KERNELS_OWN
        harmless = stat.S_ISCHR(status.st_mode) and (status.st_mode & stat.S_IWOTH or by_group)
        (plain if harmless else other).append(path)
    return plain, other


def sockets() -> list[str]:
    """The paths at which a process of this machine can be talked to."""
    found = set()
    with contextlib.suppress(OSError), open(SOCKETS, encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            words = line.rstrip("\n").split(None, FIELDS - 1)
            if len(words) == FIELDS and words[-1].startswith("/"):
                found.add(words[-1])
    return sorted(path for path in found if _is_socket(path))


def _nodes(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Block and character devices below a folder; terminals that programs make come and go, and are left out."""
    for inner, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in ("pts", "shm", "mqueue")]
        for name in files:
            path = os.path.join(inner, name)
            with contextlib.suppress(OSError):
                status = os.lstat(path)
                if stat.S_ISBLK(status.st_mode) or stat.S_ISCHR(status.st_mode):
                    yield path, status


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False
