"""Linux namespaces: the arm sees every file as read-only but for its own directories, and no network but itself.

Devices that manage the machine are covered, and so are, where the network is off, sockets in files: who listens there
may write on the arm's behalf. What could undo this is given away at the end, and Landlock is laid over it where the
kernel has it: it forbids mounting, signals to other processes, and writing to pipes that others read.

No privilege and no other program is needed where the system lets users make namespaces (most do; some containers and
hardened systems do not). Read-only is set on the mounts themselves, so that neither a spawned program nor native code
gets around it. Files in the home directory, where libraries keep caches, are covered by a layer in memory where the
kernel allows one: what is written there is gone afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from traindx.trials.sandbox import landlock
from traindx.trials.sandbox.base import Limits, Sandbox, checked, libc
from traindx.trials.sandbox.surroundings import devices, sockets

# CLONE_NEW… of linux/sched.h
NEW_USER, NEW_MOUNTS, NEW_NETWORK, NEW_SHARED_MEMORY = 0x10000000, 0x00020000, 0x40000000, 0x08000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 1 << 18  # MS_… of linux/mount.h
MOUNT_SETATTR = 442  # the number of the system call, the same on all machines
AT_RECURSIVE, AT_HERE = 0x8000, -100
READ_ONLY = 1  # MOUNT_ATTR_RDONLY
LAYER_BYTES = "1g"  # that may be written to the home directory and to shared memory
CAPABILITIES = 64  # at most; those of files stay: they reach no further than the files of one's own
KEPT = 0b1011  # CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER
DROP_BOUND, NO_NEW_PRIVILEGES = 24, 38  # PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS of linux/prctl.h
CAPABILITY_VERSION = 0x20080522
SET_FLAGS, GET_FLAGS, UP = 0x8914, 0x8913, 1  # SIOCSIFFLAGS, SIOCGIFFLAGS, IFF_UP of linux/if.h


def enter(limits: Limits) -> None:
    if sys.platform != "linux":
        raise OSError("no Linux")
    here = os.getcwd()
    covered = [*devices()[1], *([] if limits.network else sockets())]
    _unshare(limits.network)
    with _held(limits.writable) as places:
        _mount("none", "/", "", RECURSIVE | PRIVATE)
        _cover_home(Path(limits.writable[0]))
        with contextlib.suppress(OSError):  # a machine without shared memory needs none
            _mount("tmpfs", "/dev/shm", "tmpfs", 0, f"mode=1777,size={LAYER_BYTES}")
        for place, descriptor in places.items():
            _mount(f"/proc/self/fd/{descriptor}", place, "", BIND | RECURSIVE)
        for place in covered:
            with contextlib.suppress(OSError):
                _mount(os.devnull, place, "", BIND)
        kept = [*places, *filter(os.path.ismount, ("/dev/shm", *_covered()))]
        _set_read_only("/", True)
        for place in kept:
            _set_read_only(place, False)
    os.chdir(here)  # by its name: the directory that was open before lies below a mount that is read-only now
    if not limits.network:
        _loopback_up()
    _drop_privileges()
    with contextlib.suppress(
        OSError
    ):  # a kernel without it; the network is closed already, but for one's own processes
        landlock.enter(Limits((*limits.writable, *_covered()), network=True))


@contextlib.contextmanager
def _held(places: tuple[str, ...]) -> Iterator[dict[str, int]]:
    """The directories, open, by their real path: what is mounted over their parents later does not hide them."""
    found = {os.path.realpath(place): os.open(os.path.realpath(place), os.O_PATH) for place in places}
    try:
        yield found
    finally:
        for descriptor in found.values():
            os.close(descriptor)


def _unshare(network: bool) -> None:
    user, group = os.getuid(), os.getgid()
    checked(libc().unshare(NEW_USER | NEW_MOUNTS | NEW_SHARED_MEMORY | (0 if network else NEW_NETWORK)), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _mount(what: str, where: str, kind: str, flags: int, options: str = "") -> None:
    words = [word.encode() or None for word in (what, where, kind)]
    checked(libc().mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mount {where}")


def _covered() -> list[str]:
    home = os.path.realpath(os.path.expanduser("~"))
    return [home] if home != "/" and os.path.isdir(home) else []


def _cover_home(own: Path) -> None:
    """A layer in memory over the home directory. Where the kernel refuses, it stays read-only like everything else."""
    layer = own / "layer"
    for home in _covered():
        try:
            layer.mkdir(exist_ok=True)
            _mount("tmpfs", str(layer), "tmpfs", 0, f"mode=0700,size={LAYER_BYTES}")
            (layer / "upper").mkdir()
            (layer / "work").mkdir()
            _mount("overlay", home, "overlay", 0, f"lowerdir={home},upperdir={layer}/upper,workdir={layer}/work")
        except OSError:
            return


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace"))


def _set_read_only(place: str, read_only: bool) -> None:
    """The mount at this place and all below it."""
    asked = _Attributes(set=READ_ONLY) if read_only else _Attributes(clear=READ_ONLY)
    result = libc().syscall(
        MOUNT_SETATTR, AT_HERE, place.encode(), AT_RECURSIVE, ctypes.byref(asked), ctypes.sizeof(asked)
    )
    checked(result, f"mount_setattr {place}")


def _drop_privileges() -> None:
    """Who enters a namespace rules it, the administrator even after starting another program, and could make everything
    writable again."""
    system = libc()
    for capability in range(CAPABILITIES):
        if not KEPT >> capability & 1:
            system.prctl(DROP_BOUND, capability, 0, 0, 0)  # fails beyond the last one that there is
    checked(system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    checked(system.capset(header, (ctypes.c_uint32 * 6)(KEPT, KEPT)), "capset")


def _loopback_up() -> None:
    """Processes of one arm may talk to each other."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        flags = struct.unpack("16sh", fcntl.ioctl(link, GET_FLAGS, struct.pack("16sh", b"lo", 0))[:18])[1]
        fcntl.ioctl(link, SET_FLAGS, struct.pack("16sh", b"lo", flags | UP))


SANDBOX = Sandbox("namespaces", "Linux namespaces: files are read-only outside its copy, no network", True, enter)
