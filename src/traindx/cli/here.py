"""`traindx` without arguments: what lies in this directory, and the command for it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

MAX_ENTRIES = 3000  # of directories that are looked through: an answer at once matters more than all of it
MAX_DEPTH = 3
MAX_LINE = 76
MAX_SOURCE = 200_000  # bytes of a script that are read
SKIPPED = {"node_modules", "site-packages", "__pycache__", "build", "dist", "venv", "tests", "docs"}
LOGS = (
    "trainer_state.json", "events.out.tfevents.*", "metrics.csv", "progress.csv", "results.csv", "metrics.jsonl",
    "log.txt", "*.log", "*.wandb", "mlflow.db", "scalars.json", "*history*.json", "*history*.csv", "*log*.csv",
    "*log*.jsonl", "*metrics*.csv",
)  # fmt: skip
_TRAINS = re.compile(r"\.backward\(|\.fit\(|Trainer\(|\.learn\(|minimize\(")
_FRAMEWORK = re.compile(
    r"^\s*(?:import|from)\s+(?:torch|lightning|pytorch_lightning|transformers|trl|keras|jax)\b", re.M
)


@dataclass
class Found:
    """Paths of each kind, newest first once they are sorted."""

    recordings: list[Path] = field(default_factory=list)
    logs: list[Path] = field(default_factory=list)
    scripts: list[Path] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.recordings or self.logs or self.scripts)


def look_around(folder: Path) -> Found:
    """What could be diagnosed below this directory, by name, and by a look at the text of scripts. Nothing is run."""
    found = Found()
    for path in _walk(folder):
        if path.suffix == ".traindx":
            found.recordings.append(path)
        elif any(fnmatch(path.name, pattern) for pattern in LOGS):
            found.logs.append(path)
        elif path.suffix == ".py" and _trains(path):
            found.scripts.append(path)
    for paths in (found.recordings, found.logs, found.scripts):
        paths.sort(key=_changed, reverse=True)
    return found


def offers(found: Found) -> list[str]:
    """One line a kind: what is there and what to type."""
    lines = []
    if found.scripts:
        lines.append(_line(found.scripts, "training script", "traindx run", "record it and see what is wrong"))
    if found.recordings:
        lines.append(_line(found.recordings, "recording", "traindx diagnose", "judge it again"))
    if found.logs:
        lines.append(_line(found.logs, "log", "traindx diagnose", "read it"))
    if len(found.logs) + len(found.recordings) > 1:
        lines.append(("traindx diagnose .", "all runs here, the worst first"))
    wide = max((len(command) for command, _ in lines), default=0)
    if wide + max((len(what) for _, what in lines), default=0) > MAX_LINE:  # then what it does stands below it
        return [line for command, what in lines for line in (f"  {command}", f"      {what}")]
    return [f"  {command:<{wide}}  {what}" for command, what in lines]


def _line(paths: list[Path], noun: str, command: str, what: str) -> tuple[str, str]:
    """What to type and what it does."""
    number = f"1 {noun}" if len(paths) == 1 else f"{len(paths)} {noun}s"
    return f"{command} {shlex.quote(str(paths[0]))}", f"{what} ({number} here)"


def _walk(folder: Path) -> Iterator[Path]:
    waiting, seen = [(folder, 0)], 0
    while waiting and seen < MAX_ENTRIES:
        place, depth = waiting.pop(0)
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries[: MAX_ENTRIES - seen]:
            seen += 1
            path = Path(entry.path)
            if entry.name.startswith(".") or entry.name in SKIPPED:
                continue
            if path.suffix == ".traindx":
                yield path
            elif entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and not (path / "pyvenv.cfg").exists():
                    waiting.append((path, depth + 1))
            elif entry.is_file(follow_symlinks=False):
                yield path


def _trains(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_SOURCE)
    except OSError:
        return False
    return bool(_FRAMEWORK.search(text) and _TRAINS.search(text))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
