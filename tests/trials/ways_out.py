"""Run as a program: the ways in which a trial could change something outside its copy, each tried inside a sandbox.

    python tests/trials/ways_out.py namespaces landlock

Outside stand a directory, another program of the same user (with memory, shared memory and an open file), and helpers that
listen on sockets and a named pipe. Prints for each mechanism which of the ways changed any of it."""

# ruff: noqa: E501
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from traindx.trials.sandbox import Limits
from traindx.trials.sandbox.choice import wrapped

WAYS = {
    "O_TMPFILE": "fd = os.open(other, os.O_TMPFILE | os.O_RDWR); ok(C.linkat(-100, f'/proc/self/fd/{fd}'.encode(), -100, new.encode(), 0x400))",
    "reopened through /proc/self/fd": "fd = os.open(kept, os.O_RDONLY); os.write(os.open(f'/proc/self/fd/{fd}', os.O_RDWR), b'x')",
    "mapped": "m = mmap.mmap(os.open(kept, os.O_RDWR), 0); m[0] = 65; m.flush()",
    "sqlite": "c = sqlite3.connect(new); c.execute('create table t(a)'); c.commit()",
    "posix_spawn": "p = os.posix_spawn('/bin/sh', ['sh', '-c', f'echo x >> {kept} 2>/dev/null'], {}); os.waitpid(p, 0)",
    "hard link into the copy": "os.link(kept, 'hard'); open('hard', 'a').write('x')",
    "symlink in the copy": "os.symlink(kept, 'soft'); open('soft', 'a').write('x')",
    "remount": "ok(C.mount(b'none', b'/', None, 0x20 | 0x1000, None)); open(new, 'w')",
    "mount_setattr": "ok(C.syscall(442, -100, b'/', 0x8000, struct.pack('4Q', 0, 1, 0, 0), 32)); open(new, 'w')",
    "mounted elsewhere": "os.mkdir('b'); ok(C.mount(other.encode(), b'b', None, 0x1000, None)); C.mount(b'none', b'b', None, 0x1020, None); open('b/new', 'w')",
    "namespace within": "ok(C.unshare(0x10020000)); open('/proc/self/setgroups', 'w').write('deny'); open('/proc/self/uid_map', 'w').write(f'0 {os.getuid()} 1'); ok(C.mount(b'none', b'/', None, 0x1020, None)); open(new, 'w')",
    "unmounted": "[C.umount2(p.encode(), 2) for p in (os.getcwd(), '/dev/shm', os.path.expanduser('~'))]; open(new, 'w')",
    "setns": "ok(C.setns(os.open(f'/proc/{pid}/ns/mnt', os.O_RDONLY), 0)); open(new, 'w')",
    "/proc/PID/root": "open(f'/proc/{pid}/root{new}', 'w')",
    "/proc/PID/cwd": "open(f'/proc/{pid}/cwd/new', 'w')",
    "/proc/PID/fd": "open(f'/proc/{pid}/fd/{A[\"fd\"]}', 'w').write('x')",
    "/proc/PID/mem": "f = open(f'/proc/{pid}/mem', 'r+b', buffering=0); f.seek(A['address']); f.write(b'hit')",
    "ptrace": "ok(C.ptrace(16, pid, None, None)); os.waitpid(pid, 0); ok(C.ptrace(5, pid, ctypes.c_void_p(A['address']), ctypes.c_void_p(0x746968)))",
    "process_vm_writev": "b = ctypes.create_string_buffer(b'hit'); I = lambda a: (ctypes.c_size_t * 2)(a, 3); ok(C.process_vm_writev(pid, I(ctypes.addressof(b)), 1, I(A['address']), 1, 0))",
    "pidfd_getfd": "os.write(ok(C.syscall(438, ok(C.syscall(434, pid, 0)), A['fd'], 0)), b'x')",
    "signal": "os.kill(pid, signal.SIGUSR1); time.sleep(0.1)",
    "System V shared memory": "C.shmat.restype = ctypes.c_void_p; a = C.shmat(ok(C.shmget(A['shared'], 3, 0o600)), None, 0); assert a not in (None, 2**64 - 1); ctypes.memmove(a, b'hit', 3)",
    "/dev/shm": "open(A['memory'], 'a').write('x')",
    "block device": "d = next(f'/dev/{n}' for n in sorted(os.listdir('/dev')) if stat.S_ISBLK(os.stat(f'/dev/{n}').st_mode)); os.open(d, os.O_RDWR); open('through', 'w')",
    "log of the kernel": "f = os.open('/dev/kmsg', os.O_WRONLY); assert os.major(os.fstat(f).st_rdev) == 1 and os.minor(os.fstat(f).st_rdev) == 11; open('through', 'w')",
    "helper at a socket": "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(A['stream']); s.sendall(b'w'); s.recv(1)",
    "helper at a datagram socket": "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.sendto(b'w', A['datagram']); time.sleep(0.1)",
    "helper at an abstract socket": "s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(A['abstract']); s.sendall(b'w'); s.recv(1)",
    "helper by TCP": "s = socket.create_connection(('127.0.0.1', A['tcp']), 2); s.sendall(b'w'); s.recv(1)",
    "helper by UDP": "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'w', ('127.0.0.1', A['udp'])); time.sleep(0.1)",
    "helper at a named pipe": "os.write(os.open(A['pipe'], os.O_WRONLY | os.O_NONBLOCK), b'w')",
    "extended attribute": "os.setxattr(kept, b'user.x', b'1')",
    "inode flags": "fcntl.ioctl(os.open(kept, os.O_RDONLY), 0x40086602, struct.pack('l', 0x40))",
    "owner and mode": "os.chown(kept, os.getuid(), os.getgid()); os.chmod(kept, 0o600)",
    "exchanged": "open('mine', 'w'); ok(C.renameat2(-100, b'mine', -100, kept.encode(), 2))",
    "moved out": "open('mine', 'w').write('x'); os.rename('mine', new)",
    "copy_file_range": "open('m', 'w').write('y' * 9); os.copy_file_range(os.open('m', 0), os.open(kept, os.O_WRONLY), 9)",
    "fallocate": "os.posix_fallocate(os.open(kept, os.O_RDWR), 0, 999)",
    "control group": "os.mkdir('/sys/fs/cgroup/traindx-test'); os.rmdir('/sys/fs/cgroup/traindx-test'); open('through', 'w')",
    "open_by_handle_at": "b = ctypes.create_string_buffer(136); struct.pack_into('i', b, 0, 128); m = ctypes.c_int(); ok(C.name_to_handle_at(-100, kept.encode(), b, ctypes.byref(m), 0)); os.write(ok(C.open_by_handle_at(os.open('.', 0), b, os.O_RDWR)), b'x')",
    "detached grandchild": "os.system(f'(setsid sh -c \"echo x > {new}\" >/dev/null 2>&1 &)'); time.sleep(0.3)",
    "terminal": "os.open('/dev/tty', os.O_RDWR); open('through', 'w')",
    "home": "open(A['home'], 'a').write('x')",
}  # fmt: skip
TRYING = r"""
import ctypes, fcntl, json, mmap, os, signal, socket, sqlite3, stat, struct, subprocess, sys, time
A, ways = json.loads(sys.argv[1]), json.loads(sys.argv[2])
other, pid, kept, new = A["other"], A["pid"], A["other"] + "/kept", A["other"] + "/new"
C = ctypes.CDLL(None, use_errno=True)
def ok(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
    return result
for name, way in ways.items():
    sys.stdin.readline()
    child = os.fork()
    if not child:
        try: exec(way)
        except BaseException: pass
        os._exit(0)
    os.waitpid(child, 0)
    print("tried", flush=True)
"""
VICTIM = r"""
import ctypes, json, os, signal, sys
os.chdir(sys.argv[1])
content, hits, C = ctypes.create_string_buffer(b"content"), [], ctypes.CDLL(None)
signal.signal(signal.SIGUSR1, lambda *_: hits.append("signal"))
C.shmat.restype = ctypes.c_void_p
shared = C.shmget(int(sys.argv[2]), 64, 0o1600)
address = C.shmat(shared, None, 0)
while True:
    ctypes.memmove(address, b"content", 7)
    content.value = b"content"
    print(json.dumps({"address": ctypes.addressof(content), "fd": os.open("kept", os.O_RDWR)}), flush=True)
    while True:
        line = sys.stdin.readline()
        if not line:
            C.shmctl(shared, 0, None)
            sys.exit()
        found = hits + [content.value.decode(), ctypes.string_at(address, 7).decode()]
        print(json.dumps(found), flush=True)
        hits.clear()
        ctypes.memmove(address, b"content", 7)
        content.value = b"content"
"""


class Outside:
    """What a trial must not change."""

    def __init__(self, base: Path) -> None:
        self.own, self.other = base / "own", base / "other"
        self.own.mkdir()
        self.other.mkdir()
        self.heard: list[int] = []
        self.memory = Path("/dev/shm") / base.name
        self.home = Path.home() / f".{base.name}"
        self.pipe = base / "pipe"
        os.mkfifo(self.pipe)
        self.reading = os.open(self.pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.sockets: list[socket.socket] = []
        self.facts: dict[str, Any] = {
            "other": str(self.other), "memory": str(self.memory), "home": str(self.home), "pipe": str(self.pipe),
            "shared": os.getpid() * 16 + 5,
            "stream": self._listens(socket.AF_UNIX, socket.SOCK_STREAM, str(base / "stream")),
            "datagram": self._listens(socket.AF_UNIX, socket.SOCK_DGRAM, str(base / "datagram")),
            "abstract": "\0" + base.name,
            "tcp": self._listens(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))[1],
            "udp": self._listens(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))[1],
        }  # fmt: skip
        self._listens(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + base.name)
        self._restore()
        self.victim = subprocess.Popen(
            [sys.executable, "-S", "-c", VICTIM, str(self.other), str(self.facts["shared"])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        assert self.victim.stdout is not None
        self.facts |= {"pid": self.victim.pid, **json.loads(self.victim.stdout.readline())}
        self.before = self._files()

    def _listens(self, family: int, kind: int, address: Any) -> Any:
        listening = socket.socket(family, kind)
        listening.bind(address)
        if kind == socket.SOCK_STREAM:
            listening.listen()
        self.sockets.append(listening)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    if kind == socket.SOCK_STREAM:
                        talking, _ = listening.accept()
                        with talking:
                            self.heard.append(len(talking.recv(1)))
                    else:
                        self.heard.append(len(listening.recv(9)))

        threading.Thread(target=serve, daemon=True).start()
        return listening.getsockname()

    def _restore(self) -> None:
        for path in self.other.iterdir():
            path.unlink()
        (self.other / "kept").write_text("content" * 10)
        self.memory.write_text("content")
        self.before = self._files()

    def _files(self) -> list[Any]:
        found = []
        for path in sorted(self.other.iterdir()):
            status = path.lstat()
            flags = 0
            with contextlib.suppress(OSError), path.open("rb") as file:
                flags = struct.unpack("l", fcntl.ioctl(file, 0x80086601, b"\0" * 8))[0] & 0x40
            found.append((path.name, status.st_mode, status.st_ctime_ns, path.read_bytes(), os.listxattr(path), flags))
        return found

    def changed(self) -> bool:
        """Whether anything is not as it was; it is then put back."""
        assert self.victim.stdin is not None
        assert self.victim.stdout is not None
        self.victim.stdin.write("\n")
        seen = json.loads(self.victim.stdout.readline() or "[]") != ["content", "content"]
        with contextlib.suppress(BlockingIOError):
            seen = bool(os.read(self.reading, 9)) or seen
        seen = seen or bool(self.heard) or self._files() != self.before or not self.memory.exists()
        seen = seen or self.memory.read_text() != "content" or self.home.exists() or (self.own / "through").exists()
        self.heard.clear()
        self.home.unlink(missing_ok=True)
        for path in self.own.iterdir():
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        self._restore()
        return seen

    def close(self) -> None:
        self.victim.kill()
        self.victim.communicate()
        for one in self.sockets:
            one.close()
        os.close(self.reading)
        self.memory.unlink(missing_ok=True)


@contextlib.contextmanager
def outside() -> Iterator[Outside]:
    with tempfile.TemporaryDirectory(prefix="traindx-ways-", ignore_cleanup_errors=True) as base:
        found = Outside(Path(base))
        try:
            yield found
        finally:
            found.close()


def through(mechanism: str | None) -> list[str]:
    """The ways that changed something from within this mechanism; without one, from within no sandbox."""
    with outside() as world:
        command = [sys.executable, "-S", "-c", TRYING, json.dumps(world.facts), json.dumps(WAYS)]
        if mechanism is not None:
            command = wrapped(mechanism, Limits((str(world.own),)), command)
        trying = subprocess.Popen(
            command, cwd=world.own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, bufsize=1, start_new_session=True,
        )  # fmt: skip
        assert trying.stdin is not None
        assert trying.stdout is not None
        found = []
        with trying:
            for way in WAYS:
                trying.stdin.write("\n")
                if trying.stdout.readline() != "tried\n":
                    raise RuntimeError(f"{mechanism}: ended at {way}")
                if world.changed():
                    found.append(way)
            trying.stdin.close()
        return found


def main() -> int:
    for mechanism in sys.argv[1:]:
        found = through(None if mechanism == "none" else mechanism)
        print(f"{mechanism}: {len(found)} of {len(WAYS)} got through: {', '.join(found) or 'none'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
