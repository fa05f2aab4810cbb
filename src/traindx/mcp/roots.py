"""The directories an agent may name paths in. Links are followed before the question is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.errors import TraindxError


@dataclass(frozen=True)
class Roots:
    """Allowed directories, resolved. Relative paths count from the first of them."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Roots:
        """Raises TraindxError for what is no directory."""
        for folder in folders:
            if not folder.is_dir():
                raise TraindxError(f"--root {folder} is no directory.", "Give the directory that holds the runs.")
        return cls(tuple(folder.resolve() for folder in folders))

    def holds(self, path: Path) -> bool:
        """Whether what this path leads to, links followed, lies in an allowed directory."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):  # links in a circle
            return False
        return any(real.is_relative_to(folder) for folder in self.folders)

    def home_of(self, path: Path) -> Path:
        """The allowed directory that holds this path."""
        return max((folder for folder in self.folders if path.is_relative_to(folder)), key=lambda f: len(f.parts))

    def path(self, text: str) -> Path:
        """The path an agent named, resolved. Raises TraindxError when it is none, does not exist or is not allowed."""
        if not text.strip() or "\0" in text:
            raise TraindxError("`path` is empty.", f"Give a path in {self}.")
        asked = Path(text).expanduser()
        path = asked if asked.is_absolute() else self.folders[0] / asked
        if not self.holds(path):  # before existence: what lies outside is not even admitted
            raise TraindxError(
                f"{text} lies outside the allowed directories ({self}).",
                "Ask the user to start the server with another directory: traindx mcp --root DIR",
            )
        if not path.exists():
            raise TraindxError(f"{text} does not exist in {self}.", "Check the spelling, or list the directory first.")
        return path.resolve()

    def shown(self, source: str) -> str:
        """A path as the agent would write it: from the first allowed directory on."""
        path = Path(source)
        return str(path.relative_to(self.folders[0])) if path.is_relative_to(self.folders[0]) else source

    def __str__(self) -> str:
        return ", ".join(map(str, self.folders))
