"""Which event files make up one TensorBoard run, and how the tags in each are to be named.

A directory is a run. Beside its own files it may have helper directories that belong to it: `train/` and `validation/`
(Keras, Estimator), one for each curve of SummaryWriter.add_scalars, and one named by the time for add_hparams.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from traindx.readers.base import Bundle
from traindx.readers.binary.tfdecode import EventDecoder
from traindx.readers.binary.tfrecord import RecordStream
from traindx.readers.source import Source

_SPLIT_FOLDERS = frozenset({"train", "training", "val", "valid", "validation", "eval", "evaluation", "dev", "test"})
_HPARAMS_FOLDER = re.compile(r"\d{10}\.\d+")  # SummaryWriter.add_hparams: str(time.time())
_NAME = "tfevents"  # TensorBoard itself opens only files whose name has this in it
_STAMP = re.compile(r"tfevents\.(\d+)")
_VERSION_WITHIN = 256  # bytes of the head in which a whole file says 'brain.Event:2'


@dataclass(frozen=True)
class EventFile:
    """`before` and `after` are put around its tags: 'validation/' + tag, or tag + '/fake' for one of add_scalars."""

    path: Path
    before: str = ""
    after: str = ""


def looks_like_events(source: Source) -> bool:
    """Whether the content is an event file, also when its beginning is damaged."""
    head = source.head
    if b"brain.Event:" in head[:_VERSION_WITHIN]:
        return True
    return not source.is_text and bool(_tags_in(head))


def bundles(files: Iterable[Path]) -> list[Bundle]:
    """The runs among these files."""
    by_folder: dict[Path, list[Path]] = {}
    for path in files:
        if _NAME in path.name:
            by_folder.setdefault(path.parent, []).append(path)
    by_folder = {folder: kept for folder, paths in by_folder.items() if (kept := _events_among(paths))}
    runs: dict[Path, list[Path]] = {}
    for folder, paths in by_folder.items():
        runs.setdefault(_root(folder, by_folder), []).extend(paths)
    return [Bundle(_main(root, paths), frozenset(paths)) for root, paths in runs.items()]


def files_of_run(main: Path) -> tuple[Path, list[EventFile]]:
    """The directory of the run this file belongs to, and all its files in the order they were written."""
    if _NAME not in main.name:  # renamed: whatever lies beside it need not belong to it
        return main.parent, [EventFile(main)]
    near = {folder: _listed(folder) for folder in (main.parent, *_neighbour_folders(main.parent))}
    near = {folder: paths for folder, paths in near.items() if paths}
    root = _root(main.parent, near)
    by_folder = {folder: paths for folder in (root, *_folders_in(root)) if (paths := _listed(folder))}
    found: list[EventFile] = []
    for folder, paths in by_folder.items():
        if folder == root:
            found.extend(EventFile(path) for path in paths)
        elif _root(folder, by_folder) == root:
            before, after = _naming(folder, paths)
            found.extend(EventFile(path, before, after) for path in paths)
    if all(file.path != main for file in found):
        found.append(EventFile(main))
    return root, sorted(found, key=lambda file: _age(file.path))


def _root(folder: Path, by_folder: Mapping[Path, list[Path]]) -> Path:
    """The directory of the run that the event files in `folder` are part of."""
    parent = folder.parent
    events = by_folder.get(parent)
    if folder.name.lower() in _SPLIT_FOLDERS:
        others = {spelt for name in _SPLIT_FOLDERS for spelt in (name, name.capitalize(), name.upper())} - {folder.name}
        return parent if events or any(parent / other in by_folder for other in others) else folder
    if events and (_HPARAMS_FOLDER.fullmatch(folder.name) or _curve(folder, by_folder[folder])):
        return parent
    return folder


def _naming(folder: Path, paths: list[Path]) -> tuple[str, str]:
    if folder.name.lower() in _SPLIT_FOLDERS:
        return f"{folder.name}/", ""
    curve = _curve(folder, paths)
    return ("", f"/{curve}") if curve else ("", "")


def _curve(folder: Path, paths: list[Path]) -> str:
    """The curve's name when SummaryWriter.add_scalars made this directory: '<tag>_<curve>' with only <tag> in it."""
    tags = _tags_in(Source(paths[0]).head)
    if len(tags) != 1:
        return ""
    prefix = tags.pop().replace("/", "_") + "_"
    return folder.name.removeprefix(prefix) if folder.name.startswith(prefix) else ""


def _tags_in(head: bytes) -> set[str]:
    decoder = EventDecoder()
    return {tag for frames in RecordStream(io.BytesIO(head)) for tag, *_ in decoder.points(frames)}


def _main(root: Path, paths: list[Path]) -> Path:
    return min(paths, key=lambda path: (path.parent != root, _age(path)))


def _age(path: Path) -> tuple[int, str]:
    stamp = _STAMP.search(path.name)
    return int(stamp.group(1)) if stamp else 0, str(path)


def _events_among(paths: Iterable[Path]) -> list[Path]:
    return sorted((path for path in paths if path.stat().st_size and looks_like_events(Source(path))), key=_age)


def _listed(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return _events_among(folder / entry.name for entry in entries if _NAME in entry.name and entry.is_file())
    except OSError:
        return []


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return sorted(folder / entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _neighbour_folders(folder: Path) -> list[Path]:
    """The directory above and those of its directories that are named after a split."""
    above = folder.parent
    return [above, *(other for other in _folders_in(above) if other.name.lower() in _SPLIT_FOLDERS and other != folder)]
