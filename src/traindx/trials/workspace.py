"""A copy of the script's directory in which a trial may write what it likes.

Small files are copied; large files, and folders that hold many, are data: they are linked and may only be read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.errors import TraindxError
from traindx.trials.source_text import encoded_like

LARGE_FILE = 8 << 20
MOST_FILES = 3000  # in a folder, with all below it, that is copied
MOST_BYTES = 200 << 20
HASHED = 1 << 20  # a file up to this size is known by its content
MOST_HASHED = 5000
LINKED = frozenset(
    {".git", ".venv", "venv", "env", "node_modules", ".tox", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
_LEFT_OUT = frozenset({"__pycache__"})


@dataclass(frozen=True)
class Project:
    """Where a script lives: `root` is copied for every arm, `folder` is where it is started."""

    root: Path
    folder: Path

    @classmethod
    def of(cls, arguments: Sequence[str]) -> Project:
        """The current directory, where the script lies in it and it is no home directory; else the script's own."""
        here = Path.cwd().resolve()
        script = next((Path(one) for one in arguments if one.endswith(".py")), None)
        if script is not None and not script.exists():
            raise TraindxError(f"{script} does not exist.", "Check the path of the script.")
        home = script.resolve().parent if script is not None else here
        if home.is_relative_to(here) and here not in (Path.home().resolve(), Path("/")):
            return cls(here, here)
        return cls(home, here)

    def files(self) -> Iterator[Path]:
        """The user's files that a trial could reach, for checking that all are as they were."""
        for folder, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in LINKED | _LEFT_OUT and not name.endswith(".traindx")]
            yield from (Path(folder) / name for name in sorted(files))

    def fingerprint(self) -> dict[str, str]:
        """Content of small files, size and time of the others."""
        found: dict[str, str] = {}
        for path in self.files():
            found[str(path)] = self.mark(path, by_content=len(found) <= MOST_HASHED)
            if len(found) >= 10 * MOST_FILES:
                break
        return found

    @staticmethod
    def mark(path: Path, by_content: bool = True) -> str:
        """What tells whether a file is as it was."""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):  # to read a named pipe waits for whoever writes to it
                return f"special {status.st_mode}"
            if status.st_size > HASHED or not by_content:
                return f"{status.st_size} {status.st_mtime_ns}"
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError:
            return "unreadable"


@dataclass(frozen=True)
class Copy:
    """A project's copy below `place`: where the script runs and what its arguments are there."""

    project: Project
    place: Path

    @property
    def root(self) -> Path:
        return self.place / "copy"

    @property
    def folder(self) -> Path:
        if self.project.folder.is_relative_to(self.project.root):
            return self.root / self.project.folder.relative_to(self.project.root)
        return self.place / "folder"

    def make(self, edits: Mapping[str, str]) -> None:
        """`edits`: new contents of source files, by their path below the root."""
        _copy(self.project.root, self.root, _Allowance())
        if not self.folder.exists():
            self.folder.mkdir()
            for entry in self.project.folder.iterdir():
                (self.folder / entry.name).symlink_to(entry)
        for name, text in edits.items():
            path = self.root / name
            if path.is_symlink() or not path.resolve().is_relative_to(self.root.resolve()):
                raise TraindxError(f"{name} lies in a folder too large to copy.", "Move the script out of its data.")
            path.write_bytes(encoded_like(path.read_bytes() if path.exists() else b"", text))

    def moved(self, text: str) -> str:
        """An argument or a search path that names the project's root, naming the copy."""
        return text.replace(str(self.project.root), str(self.root))

    def argument(self, text: str) -> str:
        """The same for an argument; a script that lies outside the folder it is started from is named in full."""
        path = Path(text)
        if text.endswith(".py") and not path.is_absolute() and (self.project.folder / path).exists():
            whole = (self.project.folder / path).resolve()
            if whole.is_relative_to(self.project.root) and not self.project.folder.is_relative_to(self.project.root):
                return str(self.root / whole.relative_to(self.project.root))
        return self.moved(text)


class _Allowance:
    """What may still be copied."""

    def __init__(self) -> None:
        self.files, self.bytes = MOST_FILES, MOST_BYTES

    def grants(self, folder: Path) -> bool:
        """Whether a folder, with everything below it but what is linked anyway, is small enough; it then counts as
        copied."""
        count = size = 0
        for inner, names, files in os.walk(folder):
            names[:] = [name for name in names if name not in LINKED | _LEFT_OUT]
            for name in files:
                try:
                    length = os.lstat(os.path.join(inner, name)).st_size
                except OSError:
                    continue
                count, size = count + 1, size + (length if length <= LARGE_FILE else 0)
                if count > self.files or size > self.bytes:
                    return False
        self.files, self.bytes = self.files - count, self.bytes - size
        return True


def _copy_file(path: Path, there: Path, status: os.stat_result) -> None:
    """By its kind: a small file is copied, a large or unreadable one linked; a named pipe is made anew, since the
    other end of the user's own is not in the trial. A socket has no meaning without its server."""
    if stat.S_ISFIFO(status.st_mode):
        os.mkfifo(there, stat.S_IMODE(status.st_mode))
    elif stat.S_ISREG(status.st_mode) and status.st_size <= LARGE_FILE and os.access(path, os.R_OK):
        shutil.copy2(path, there)
    elif not stat.S_ISSOCK(status.st_mode):
        there.symlink_to(path)


def _copy(source: Path, target: Path, allowance: _Allowance | None) -> None:
    """Folders directly below the root are granted or not; what is in a granted one is copied with it."""
    target.mkdir(parents=True)
    for entry in os.scandir(source):
        path, there = Path(entry.path), target / entry.name
        if entry.name in _LEFT_OUT or entry.name.endswith(".traindx") or target.is_relative_to(path):
            continue  # the last: temporary files that are kept inside the project
        if entry.is_symlink() or entry.name in LINKED:
            there.symlink_to(path.resolve() if entry.is_symlink() else path)
        elif not entry.is_dir():
            _copy_file(path, there, entry.stat())
        elif allowance is None or allowance.grants(path):
            _copy(path, there, None)
        elif any(path.glob("*.py")) or any(path.glob("*/*.py")):
            _copy(path, there, allowance)  # sources beside data: look further down
        else:
            there.symlink_to(path)
