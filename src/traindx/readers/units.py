"""A tree of thousands of runs, cut into units of work: the files of one run stay together, and no unit needs another.

`find_runs` looks at a whole directory at once, which is right for one run and its copies and far too slow for ten
thousand of them. Here the folders decide: what lies in a folder, or in subfolders that trackers put inside a run, is
one unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.errors import TraindxError
from traindx.readers.find import add_nearby_settings, find_runs, hide_secrets, runs_among, walk
from traindx.readers.formats.hf_trainer import STATE, output_of
from traindx.readers.reach import Allowed, limited_to
from traindx.run import Run

# folders that trackers and frameworks make inside the folder of one run
_INSIDE = frozenset(
    {"logs", "log", "files", "tb", "tensorboard", "tensorboard_logs", "tb_logs", "csv", "csv_logs", "events", "metrics",
     "params",
     "tags", "artifacts", "train", "training", "val", "validation", "valid", "test", "eval", "evaluation", "plots",
     "static",
     "images", "vis_data", "checkpoints", "ckpt", "weights", "tmp", ".hydra", "config", "media", "code", "inputs",
     "outputs"}
)  # fmt: skip
_CHECKPOINT = re.compile(r"(checkpoint|ckpt|epoch|step|global_step)[-_=]?\d+$")
_EVENTS = "tfevents"
RECORDING = ".traindx"  # the folder of one recording: its ranks, its samples and the source beside them are one run
_NOT_A_LOG = "holds no training metrics"
_CROWD = 12  # files of one folder from which they are runs of their own rather than logs of one run
_LOG_ENDINGS = frozenset({".csv", ".tsv", ".jsonl", ".log", ".wandb", ".ndjson"})


@dataclass(frozen=True, slots=True)
class Unit:
    """Files that may make up one run or a few; `named` when the user gave this very path."""

    folder: Path
    files: tuple[Path, ...]
    named: bool = False

    @property
    def label(self) -> str:
        return str(self.files[0] if len(self.files) == 1 and self.folder.suffix != RECORDING else self.folder)


def units_in(paths: Sequence[Path], allowed: Allowed | None = None) -> list[Unit]:
    """The units of these files and directories, in order, files in directories only where they are `allowed`. Raises
    TraindxError for a path that does not exist."""
    units: list[Unit] = []
    for path in paths:
        if not path.exists():
            raise TraindxError(f"{path} does not exist.", "Check the spelling, or give the directory the runs are in.")
        units.extend(_units_of(path, allowed) if path.is_dir() else [Unit(path.parent, (path,), named=True)])
    return units


def runs_of(unit: Unit, allowed: Allowed | None = None) -> tuple[list[Run], list[str]]:
    """The runs of a unit, and one sentence for each log in it that cannot be used."""
    if unit.named:
        try:
            return find_runs(list(unit.files), allowed=allowed), []
        except TraindxError as error:
            return [], [str(error)]
        except OSError as error:
            return [], [f"{unit.label} cannot be read: {error.strerror or error}."]
    with limited_to(allowed):
        named: list[str] = []
        runs, damaged = runs_among(unit.folder, unit.files, named=named)
        for run in runs:
            add_nearby_settings(run)
            hide_secrets(run)
    if runs:
        return runs, named
    # notes and settings hold no metrics either, and nobody wants to hear of them
    problems = [problem for problem in damaged if _NOT_A_LOG not in problem] or named
    log = next((path for path in unit.files if _is_log(path)), None)
    return [], problems[:1] or ([f"{log} {_NOT_A_LOG}."] if log is not None else [])


def _is_log(path: Path) -> bool:
    return path.suffix.lower() in _LOG_ENDINGS or _EVENTS in path.name


def _units_of(root: Path, allowed: Allowed | None) -> list[Unit]:
    files = [path for path in walk(root) if allowed is None or allowed(path)]
    with_events = {path.parent for path in files if _EVENTS in path.name}
    outputs = {output_of(path) for path in files if path.name == STATE}
    groups: dict[Path, list[Path]] = {}
    for path in files:
        groups.setdefault(_home(path, root, with_events, outputs), []).append(path)
    units: list[Unit] = []
    for folder, members in groups.items():
        units.extend([Unit(folder, tuple(members))] if folder.suffix == RECORDING else _split(folder, members))
    return units


def _home(path: Path, root: Path, with_events: set[Path], outputs: set[Path]) -> Path:
    """The folder of the run this file belongs to. The events below an output directory of Hugging Face's Trainer are
    those of its run, in a folder named after the time."""
    folder = path.parent
    recording = next((parent for parent in path.parents if parent.suffix == RECORDING), None)
    if recording is not None:
        return recording
    if _EVENTS in path.name:
        output = next((parent for parent in path.parents if parent in outputs), None)
        if output is not None:
            return output
    while folder != root and (
        folder.name.lower() in _INSIDE
        or _CHECKPOINT.match(folder.name)
        or (_EVENTS in path.name and folder.parent in with_events)
    ):
        folder = folder.parent
    return folder


def _split(folder: Path, files: list[Path]) -> list[Unit]:
    """A folder full of logs is a folder of runs: one unit for each name, whatever its endings are."""
    logs = [path for path in files if path.parent == folder and _is_log(path)]
    if len(logs) < _CROWD or any(_EVENTS in path.name for path in logs):
        return [Unit(folder, tuple(files))]
    by_name: dict[str, list[Path]] = {}
    rest: list[Path] = []
    for path in files:
        if path.parent == folder:
            by_name.setdefault(path.name.split(".")[0] if path.stem.isalpha() else path.stem, []).append(path)
        else:
            rest.append(path)
    units = [Unit(folder, tuple(members)) for members in by_name.values()]
    return [*units, Unit(folder, tuple(rest))] if rest else units
