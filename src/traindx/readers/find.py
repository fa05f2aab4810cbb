"""From paths to runs: which reader a file belongs to, which files of a directory make up one run, which are copies."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES
from traindx.readers import readers
from traindx.readers.base import FALLBACK, LIKELY, POSSIBLE, Bundle, Reader
from traindx.readers.binary.sqlite_store import fault_of
from traindx.readers.copies import without_copies
from traindx.readers.reach import Allowed, kind_of, limited_to, may_read
from traindx.readers.settings import load_settings
from traindx.readers.source import Source
from traindx.readers.tables.jsontext import as_float
from traindx.readers.version_files import CARD, on_card
from traindx.run import Run
from traindx.secrets import hidden, hidden_settings
from traindx.versions import as_settings, from_settings

Progress = Callable[[str, int, int], None]  # what is read, bytes done, bytes in all
SETTINGS = (
    "config.yaml", "config.yml", "hparams.yaml", "args.yaml", "opt.yaml", "params.yaml", "config.json", "args.json",
    "hparams.json", "params.json", "training_args.json", ".hydra/config.yaml", "config/config.yaml",
)  # fmt: skip
_SKIPPED_FOLDERS = frozenset(
    {".git", ".venv", "venv", "node_modules", "__pycache__", ".ipynb_checkpoints", "site-packages"}
)
_MAX_FILES = 200_000
MIN_OVERFLOWS = 6  # scales in a row: the first half dozen may be how a scaler begins
_WORKBOOK_PARTS = (b"xl/workbook", b"xl/worksheets", b"[Content_Types].xml")  # of the zip that an .xlsx is
_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BY_NAME = {".tfevents.": "an event file of TensorBoard", ".wandb": "a log of W&B"}
_LOOKED_FOR = (
    "TensorBoard events, W&B, MLflow, trackio, HF, Lightning, Keras, YOLO, mmengine, detectron2, fairseq or Megatron "
    "logs, "
    "CSV/TSV/JSON tables or any text with 'loss 0.5'-like pairs"
)


def find_runs(
    paths: Sequence[Path], *, progress: Progress | None = None, allowed: Allowed | None = None,
    tell: Callable[[str], None] | None = None,
) -> list[Run]:  # fmt: skip
    """Every run in these files and directories, in order. Raises TraindxError when a path holds none. Files that are
    not `allowed`, links out of a directory for example, are passed over, whatever leads to them. `tell` hears of each
    log in a directory that could not be read: the others are."""
    runs: list[Run] = []
    with limited_to(allowed):
        for path in paths:
            if not path.exists():
                raise TraindxError(
                    f"{path} does not exist.", "Check the spelling, or give the directory the run wrote to."
                )
            runs.extend(_in_directory(path, progress, tell) if path.is_dir() else _in_file(path, str(path), progress))
        for run in runs:
            add_nearby_settings(run)
            add_versions(run)
            hide_secrets(run)
    return runs


def hide_secrets(run: Run) -> None:
    """Take secrets out of what the log and its settings say, before anybody shows, stores or sends it."""
    run.config = hidden_settings(run.config)
    run.events = [replace(event, text=hidden(event.text)) for event in run.events]
    run.last_lines = tuple(map(hidden, run.last_lines))
    run.said = tuple(map(hidden, run.said))
    run.facts = {name: replace(fact, evidence=hidden(fact.evidence)) for name, fact in run.facts.items()}


def add_nearby_settings(run: Run) -> None:
    """Settings that lie next to the log, where the reader has not found any itself; what the log says of itself
    wins."""
    folder = Path(run.source).parent
    for name in SETTINGS:
        if (folder / name).is_file() and may_read(folder / name):
            run.config = {**load_settings(folder / name), **run.config}
            return


def add_versions(run: Run) -> None:
    """The versions that its settings or the model card beside it name, as settings `version.NAME`; the log's own
    win."""
    card = Path(run.source).parent / CARD
    found = from_settings(run.config)
    if card.is_file() and may_read(card):
        found.update(on_card(card))
    run.config = {**as_settings(found), **run.config}


def runs_from_stream(stream: BinaryIO, name: str = "<stdin>") -> list[Run]:
    """The runs in a stream: kept in a temporary file, since sniffing reads it more than once."""
    with tempfile.TemporaryDirectory(prefix="traindx-") as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            while chunk := stream.read(1 << 20):
                file.write(chunk)
        runs = _in_file(path, name, None)
    for run in runs:
        hide_secrets(run)
    return runs


def candidates(source: Source) -> list[tuple[float, Reader]]:
    """The readers that recognise this content, surest first."""
    scored = [(reader.sniff(source), reader) for reader in readers()]
    return sorted(((score, reader) for score, reader in scored if score > 0), key=lambda pair: -pair[0])


def _in_file(path: Path, name: str, progress: Progress | None) -> list[Run]:
    source = _source(path, name, progress)
    try:
        refuse_special(path, name)
        if not source.size:
            raise TraindxError(f"{name} is empty.", "Give the log file itself, or the directory the run wrote to.")
        _refuse_workbook(source)
        ranked = candidates(source)
    except OSError as error:
        raise TraindxError(f"{name} cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    refusal: TraindxError | None = None
    empty: list[Run] = []
    for _, reader in ranked:
        try:
            runs = _read(reader, source)
        except TraindxError as error:
            refusal = refusal or error
            continue
        if any(_tells(run) for run in runs):
            return [run for run in runs if _tells(run)]
        empty = empty or [run for run in runs if run.series and any(run.of(kind) for kind in OBJECTIVES)]
    if empty:  # a table that names its metrics but holds no number yet
        return empty
    if refusal is not None:
        raise refusal
    found = "text without metrics" if source.is_text else "binary data of no known format"
    raise TraindxError(
        f"{name} holds no training metrics: looked for {_LOOKED_FOR}; found {found}.",
        "Point traindx at the log or run directory, or pipe the training's output into `traindx diagnose -`.",
    )


def _refuse_workbook(source: Source) -> None:
    """A spreadsheet is a program's own archive; nothing in it is opened."""
    zipped = source.head.startswith(_ZIP) and any(part in source.head for part in _WORKBOOK_PARTS)
    if zipped or source.head.startswith(_OLD_EXCEL):
        raise TraindxError(
            f"{source.name} is an Excel workbook, which traindx does not read: save the sheet as CSV and give that "
            f"file."
        )


def _tells(run: Run) -> bool:
    """Whether there is anything to diagnose: a number of an objective, overflow after overflow, or a crash."""
    return (
        any(len(series) for series in run.of(*OBJECTIVES, "lr", "grad_norm", "step_time"))
        or _only_overflows(run)
        or any(event.kind in ("traceback", "oom", "killed") for event in run.events)
    )


def _only_overflows(run: Run) -> bool:
    """A part of a log in which the loss scaler is all that speaks."""
    return any(len(series) >= MIN_OVERFLOWS for series in run.of("loss_scale"))


def _in_directory(folder: Path, progress: Progress | None, tell: Callable[[str], None] | None = None) -> list[Run]:
    files = [path for path in walk(folder) if may_read(path)]
    named: list[str] = []
    runs, damaged = runs_among(folder, files, progress, named)
    if tell is not None and runs:
        for sentence in named:
            tell(sentence)
    if not runs and len(files) == 1:  # a directory of one file is that file: a single row of it may be all there is
        with suppress(TraindxError):
            return _in_file(files[0], str(files[0]), progress)
    if not runs:
        detail = f" ({(damaged or named)[0].rstrip('.')})" if damaged or named else ""
        raise TraindxError(
            f"{folder} holds no training log: files looked through: {len(files)}, for {_LOOKED_FOR}{detail}.",
            "Point traindx at the directory the run wrote to.",
        )
    return runs


def runs_among(
    folder: Path, files: Sequence[Path], progress: Progress | None = None, named: list[str] | None = None
) -> tuple[list[Run], list[str]]:
    """The runs that these files of a folder make up, by source and without copies; and what was damaged. `named` is
    filled with what was said of files that are logs for certain: a setting or a note that is no log is no loss."""
    named = [] if named is None else named
    runs: list[Run] = []
    damaged: list[str] = []
    taken: set[Path] = set()
    for reader in readers():
        if reader.claim is None:
            continue
        free = [path for path in files if path not in taken]
        for bundle in _claimed(reader, folder, free):
            taken |= bundle.files
            before = len(damaged)
            runs.extend(_quietly(reader, _source(bundle.main, str(bundle.main), progress), damaged))
            named += damaged[before:]
    for path in files:
        if path not in taken:
            runs.extend(_any_run(path, progress, damaged, named))
    found = sorted((run for run in runs if _tells(run) or run.of(*OBJECTIVES)), key=lambda run: run.source)
    return without_copies(found), damaged


def _claimed(reader: Reader, folder: Path, files: Sequence[Path]) -> list[Bundle]:
    assert reader.claim is not None
    try:
        return reader.claim(folder, files)
    except OSError:  # a directory that vanished or may not be listed claims nothing
        return []


def _any_run(path: Path, progress: Progress | None, damaged: list[str], named: list[str]) -> list[Run]:
    """What one loose file of a directory holds. Plain text counts only when it clearly logs an objective: source code,
    notes and settings lie in run directories too."""
    source = _source(path, str(path), progress)
    try:
        if not source.size:
            return []
        _refuse_workbook(source)
        ranked = candidates(source)
    except TraindxError as error:
        damaged.append(str(error))
        return []
    except OSError as error:
        named.append(f"{path} cannot be read: {error.strerror or error}.")
        return []
    if not ranked:
        named += _ruined(source)
    before = len(damaged)
    for score, reader in ranked:
        found = [
            run
            for run in _quietly(reader, source, damaged)
            if _tells(run) or (run.of(*OBJECTIVES) and score >= POSSIBLE)
        ]
        if score <= FALLBACK:
            found = [
                run
                for run in found
                if any(len(series) >= 2 for series in run.of(*OBJECTIVES)) or run.events or _only_overflows(run)
            ]
        if found:
            return found
    named += damaged[before:][:1] if ranked and ranked[0][0] >= LIKELY else []
    return []


def _ruined(source: Source) -> list[str]:
    """What to say of a file that is a tool's log by its name or its first bytes and that no reader recognises."""
    if (fault := fault_of(source)) is not None:
        return [f"{source.name} is a damaged database: {fault}."]
    kind = next((kind for mark, kind in _BY_NAME.items() if mark in source.path.name), None)
    return [] if kind is None else [f"{source.name} is damaged: it is named like {kind} and holds none."]


def _quietly(reader: Reader, source: Source, damaged: list[str]) -> list[Run]:
    try:
        return _read(reader, source)
    except TraindxError as error:
        damaged.append(error.message)
    return []


@np.errstate(all="ignore")  # a damaged file may hold any number
def taken_in(reader: Reader, source: Source) -> list[Run]:
    """What a reader finds in a file, its faults as they are. A setting of hundreds of digits counts as infinite."""
    runs = reader.read(source)
    for run in runs:
        run.config = {name: as_float(value) if _is_huge(value) else value for name, value in run.config.items()}
    return runs


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) > sys.float_info.max


def _read(reader: Reader, source: Source) -> list[Run]:
    """What a reader finds in a file. Whatever it stumbles over is that file's own failure, in one sentence (set
    TRAINDX_DEBUG to see the error): the files beside it are read all the same."""
    try:
        runs = taken_in(reader, source)
    except TraindxError:
        raise
    except OSError as error:
        raise TraindxError(f"{source.name} cannot be read: {error.strerror or error}.", "Check the file.") from error
    except Exception as error:
        if os.environ.get("TRAINDX_DEBUG"):
            raise
        raise TraindxError(
            f"{source.name} could not be read as {reader.title} ({type(error).__name__}: {str(error)[:120]}).",
            "It is damaged, or this is a bug in traindx: please report it with the file.",
        ) from error
    for run in runs if source.stopped else ():
        run.lost.append(f"{source.name} {source.stopped}.")
    return runs


def refuse_special(path: Path, name: str) -> None:
    """A named pipe, a socket or a device is refused at once: to read it may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise TraindxError(
            f"{name} is {kind_of(mode)}, which is not read.", "Pipe the log into `traindx diagnose -` instead."
        )


def _source(path: Path, name: str, progress: Progress | None) -> Source:
    return Source(path, name, None if progress is None else lambda done, size: progress(name, done, size))


def walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in order, without version control, environments and caches."""
    count = 0
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(root) / name
            if path.is_file():
                yield path
                count += 1
                if count >= _MAX_FILES:
                    return
