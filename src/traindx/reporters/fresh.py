"""Files that are made from the catalogue: brought up to date, or checked to be."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from traindx.reporters.wording import amount


def stale(folder: Path, files: Mapping[str, str], owned: Sequence[str]) -> list[str]:
    """Files in the folder that differ from what they should be, are missing, or match a pattern of `owned` and belong
    to nothing any more."""
    different = (path for path, text in files.items() if _current(folder / path) != text)
    return sorted({*different, *_orphans(folder, files, owned)})


def write(folder: Path, files: Mapping[str, str], owned: Sequence[str]) -> int:
    """Bring the folder up to date; gives how many files there are."""
    for orphan in _orphans(folder, files, owned):
        (folder / orphan).unlink()
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if _current(target) != text:
            target.write_text(text, "utf-8")
    return len(files)


def run(arguments: Sequence[str], module: str, files: Callable[[], Mapping[str, str]], owned: Sequence[str]) -> int:
    """`python -m MODULE FOLDER` writes, with `--check` it exits 1 when something is not up to date."""
    check = "--check" in arguments
    folders = [Path(argument) for argument in arguments if argument != "--check"]
    if len(folders) != 1:
        print(f"usage: python -m {module} [--check] FOLDER", file=sys.stderr)
        return 2
    if not check:
        print(f"{amount(write(folders[0], files(), owned), 'page')} in {folders[0]}")
        return 0
    old = stale(folders[0], files(), owned)
    if old:
        print(f"{amount(len(old), 'page')} not up to date; run `make docs`: {', '.join(old[:8])}", file=sys.stderr)
    return 1 if old else 0


def _current(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _orphans(folder: Path, files: Iterable[str], owned: Sequence[str]) -> list[str]:
    known = set(files)
    found = (path.relative_to(folder).as_posix() for pattern in owned for path in folder.glob(pattern))
    return [path for path in found if path not in known]
