"""Landlock, a module of the Linux kernel: nothing is created, written, moved or deleted outside of the arm's own
directories, by whatever program it starts, no TCP connection is made, and newer kernels keep signals in as well. Times,
modes and owners of files, shared memory, datagrams and sockets of other programs are not covered."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

from traindx.trials.sandbox.base import Limits, Sandbox, checked, libc
from traindx.trials.sandbox.surroundings import devices

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same numbers on all machines
ASK_VERSION = 1
PATH_BENEATH = 1
NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS
# LANDLOCK_ACCESS_FS_…: what a version of the interface can forbid, as far as it writes
WRITE_FILE = 1 << 1
CHANGES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))  # remove and make every kind of file
MOVES, CUTS = 1 << 13, 1 << 14  # between directories, since version 2; truncate, since version 3
NETWORK = 0b11  # bind and connect by TCP, since version 4
SIGNALS, SCOPES = 0b10, 0b11  # signals, and sockets without a file, to processes outside, since version 6
WITH_MOVES, WITH_CUTS, WITH_NETWORK, WITH_SCOPES = 2, 3, 4, 6


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def enter(limits: Limits) -> None:
    if sys.platform != "linux":
        raise OSError("no Linux")
    system = libc()
    version = checked(system.syscall(CREATE_RULESET, None, 0, ASK_VERSION), "Landlock")
    writing = CHANGES | (MOVES if version >= WITH_MOVES else 0) | (CUTS if version >= WITH_CUTS else 0)
    closes = version >= WITH_NETWORK and not limits.network
    rules = _Rules(writing, NETWORK if closes else 0, SIGNALS if limits.network else SCOPES)
    size = 24 if version >= WITH_SCOPES else 16 if version >= WITH_NETWORK else 8
    ruleset = checked(system.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0), "Landlock")
    try:
        for place in limits.writable:
            _allow(ruleset, place, writing)
        with contextlib.suppress(OSError):
            _allow(ruleset, "/dev/shm", writing)
        for device in ("/dev/pts", *devices()[0]):  # the null device, terminals, those of a GPU
            with contextlib.suppress(OSError):
                _allow(ruleset, device, WRITE_FILE)
        checked(system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
        checked(system.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, place: str, access: int) -> None:
    descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Beneath(access, descriptor)
        checked(libc().syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0), f"Landlock {place}")
    finally:
        os.close(descriptor)


SANDBOX = Sandbox(
    "landlock",
    "Landlock: no file is written outside its copy, no TCP (times and owners, and sockets of others, are not covered)",
    True, enter,
)  # fmt: skip
