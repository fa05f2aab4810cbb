"""Where W&B keeps the files of a run: `wandb/run-<time>-<id>/{run-<id>.wandb, files/…, logs/…}`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from traindx.readers.base import Bundle
from traindx.readers.binary.wandb_datastore import FILE_HEADER, MAGIC, right_chunk
from traindx.readers.reach import may_read, open_file
from traindx.readers.source import Source

CONSOLE, SUMMARY, CONFIG, METADATA = "output.log", "wandb-summary.json", "config.yaml", "wandb-metadata.json"
HISTORY = "wandb-history.jsonl"  # before 0.10
_RUN_FOLDER = re.compile(r"(?:offline-|dry)?run-\d{8}_\d{6}-\w+")
_RUN_FILE = re.compile(r"run-(\w+)\.wandb")
_MARKS = (b"_wandb:", b"wandb_version:")  # in a config.yaml that W&B wrote
_CONFIG_HEAD = 1 << 16


def is_store(source: Source) -> bool:
    """Whether this is a .wandb file, also when its first bytes are damaged."""
    return source.head.startswith(MAGIC) or right_chunk(source.head, FILE_HEADER)[0] > 0


def is_home(folder: Path) -> bool:
    """Whether this is the `files` folder of a run, wherever it was copied to."""
    if (folder / SUMMARY).is_file() or (folder / METADATA).is_file() or _RUN_FOLDER.fullmatch(folder.parent.name):
        return True
    config = folder / CONFIG
    if not config.is_file() or not may_read(config):
        return False
    with open_file(config) as file:
        head = file.read(_CONFIG_HEAD)
    return any(mark in head for mark in _MARKS)


def home_of(path: Path) -> Path:
    """The folder with the settings and the console output of the run that this file belongs to."""
    inner = path.parent / "files"  # releases before 0.10 had none
    return inner if inner.is_dir() else path.parent


def stores_of(path: Path) -> list[Path]:
    """The .wandb files of the run that `path` belongs to, oldest first: a resumed run has one for each part."""
    if not is_store(Source(path)):
        folder = path.parent.parent if path.parent.name == "files" else path.parent
        return next((stores_of(store) for store in sorted(folder.glob("*.wandb")) if is_store(Source(store))), [])
    above, run_id = _identity(path)
    parts = list(above.glob(f"*run-*-{run_id}/run-{run_id}.wandb")) if run_id else []
    return sorted(parts, key=lambda part: part.parent.name.removeprefix("offline-")) if path in parts else [path]


def bundles(files: Sequence[Path]) -> list[Bundle]:
    """The runs among these files, each with everything that lies in its folder."""
    run_of: dict[Path, tuple[Path, str]] = {}  # the run to which everything below a folder belongs
    mains: dict[tuple[Path, str], Path] = {}
    for path in sorted(files):
        if path.suffix == ".wandb" and is_store(Source(path)):
            key = run_of[path.parent if _in_run_folder(path) else path] = _identity(path)
            mains.setdefault(key, path)
    for name in (HISTORY, CONSOLE, SUMMARY, METADATA):
        for path in files:
            root = path.parent.parent if path.parent.name == "files" else path.parent
            if path.name == name and root not in run_of and is_home(path.parent):
                key = run_of[root] = (root, "")
                mains[key] = path
    taken: dict[tuple[Path, str], set[Path]] = {key: set() for key in mains}
    for path in files:
        for place in (path, *path.parents):
            if place in run_of:
                taken[run_of[place]].add(path)
                break
        if taken and path.parent.name == "wandb" and path.name.startswith("debug"):  # a link into the latest run
            next(iter(taken.values())).add(path)
    return [Bundle(main, frozenset(taken[key])) for key, main in mains.items()]


def _identity(store: Path) -> tuple[Path, str]:
    """What the parts of a resumed run share: the folder their folders lie in, and the run's id."""
    match = _RUN_FILE.fullmatch(store.name)
    return (store.parent.parent, match.group(1)) if match and _in_run_folder(store) else (store, "")


def _in_run_folder(store: Path) -> bool:
    """Whether the .wandb file lies in the folder of its run rather than alone among other things."""
    return bool(_RUN_FOLDER.fullmatch(store.parent.name)) or (store.parent / "files").is_dir()
