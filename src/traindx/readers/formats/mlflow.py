"""MLflow: the sqlite store (mlflow.db) and the file store (mlruns/<experiment>/<run>/)."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.binary.sqlite_store import UNREADABLE, number, opened, rows_of, tables_of
from traindx.readers.build import RunBuilder
from traindx.readers.clocks import align_clocks
from traindx.readers.reach import may_read, open_file
from traindx.readers.settings import load_settings, settings_from
from traindx.readers.source import Source
from traindx.run import Event, Run

_LARGEST = 1.7976931348623157e308  # what MLflow's sqlite store writes for an infinite value
_MAX_TEXT = 1 << 16  # of a parameter or tag
_META = "meta.yaml"
_METRIC_LINE = re.compile(rb"\d{10,14} \S+(?: -?\d+(?: \S+ \S+)?)?\r?\n?")  # 2 fields (old), 3, or 5 (with a data set)
_CONSTANTS: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_STATUS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}  # entities.RunStatus


@dataclass
class _Points:
    """One metric of one run."""

    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    times: array[float] = field(default_factory=lambda: array("d"))

    def add(self, step: float, value: float, milliseconds: float) -> None:
        self.steps.append(step)
        self.values.append(value)
        self.times.append(milliseconds / 1000)


def _sniff(source: Source) -> float:
    tables = tables_of(source)
    if tables:
        return CERTAIN if {"run_uuid", "key", "value"} <= tables.get("metrics", set()) and "runs" in tables else 0.0
    if source.path.name == _META:
        return CERTAIN if _is_run(source.path) else 0.0
    lines = source.head.splitlines(keepends=True)[:20]
    is_metric = bool(lines) and all(_METRIC_LINE.fullmatch(line) for line in lines[:-1] or lines)
    return CERTAIN if is_metric and _meta_above(source.path) is not None else 0.0


def _claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    metas = {path.parent: path for path in files if path.name == _META and _is_run(path)}
    members: dict[Path, set[Path]] = {root: set() for root in metas}
    for path in files:
        root = next((parent for parent in path.parents if parent in metas), None)
        if root is not None:
            members[root].add(path)
    return [Bundle(metas[root], frozenset(paths)) for root, paths in members.items()]


def _read(source: Source) -> list[Run]:
    if tables := tables_of(source):
        if not {"runs", "metrics"} <= set(tables):
            raise TraindxError(f"{source.name} is no MLflow database.", "Give the directory mlruns/ or mlflow.db.")
        return _read_sqlite(source, tables)
    meta = source.path if source.path.name == _META else _meta_above(source.path)
    if meta is None:
        raise TraindxError(f"{source.name} is no part of an MLflow run.", "Give the directory mlruns/ or mlflow.db.")
    return _read_folder(source, meta)


def _read_sqlite(source: Source, tables: Mapping[str, set[str]]) -> list[Run]:
    lost: list[str] = []
    metrics: dict[str, dict[str, _Points]] = {}
    params: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    columns = ("run_uuid", "key", "value", "timestamp", "step", "is_nan")
    runs: list[Run] = []
    try:
        with opened(source.path) as database:
            infos = list(
                rows_of(database, "runs", ("run_uuid", "name", "status", "lifecycle_stage"), tables["runs"], lost)
            )
            for run_id, key, value in rows_of(database, "params", columns[:3], tables.get("params", set()), lost):
                params.setdefault(run_id, {})[str(key)] = value
            for run_id, key, value in rows_of(database, "tags", columns[:3], tables.get("tags", set()), lost):
                if key == "mlflow.runName":
                    names[run_id] = str(value)
            for run_id, key, value, stamp, step, is_nan in rows_of(
                database, "metrics", columns, tables["metrics"], lost
            ):
                logged, at = number(value), number(stamp)
                if logged is None or at is None:
                    continue
                of_run = metrics.setdefault(run_id, {})
                points = of_run.get(key)
                if points is None:
                    points = of_run[key] = _Points()
                points.add(number(step) or 0.0, _restored(logged, bool(is_nan)), at)
    except UNREADABLE as error:
        raise TraindxError(
            f"{source.name} is a damaged MLflow database: {error}.", "Try `sqlite3 FILE .recover`."
        ) from error
    for run_id, name, status, stage in infos:
        if stage == "deleted":
            continue
        builder = RunBuilder(source.name, "mlflow", one_run=True)
        builder.lost.extend(lost)
        builder.config.update(_settings(params.get(run_id, {})))
        title = str(name or names.get(run_id) or run_id)
        runs.append(_finished(builder, metrics.pop(run_id, {}), str(status), title))
    return runs


def _restored(value: float, is_nan: bool) -> float:
    """The value as it was logged: the store has no NaN, and clips infinity to the largest number."""
    if is_nan:
        return float("nan")
    return float("inf") * np.sign(value) if abs(value) >= _LARGEST else value


def _read_folder(source: Source, meta: Path) -> list[Run]:
    root = meta.parent
    facts = load_settings(meta)
    if facts.get("lifecycle_stage") == "deleted":
        raise TraindxError(
            f"{source.name} belongs to a deleted MLflow run.", f"Try `mlflow runs restore --run-id {root.name}`."
        )
    builder = RunBuilder(source.name, "mlflow", one_run=True)
    metrics = {name: _points(path, name, builder.lost) for name, path in _files_below(root / "metrics")}
    params = {name: _text(path) for name, path in _files_below(root / "params")}
    builder.config.update(_settings(params))
    name = str(facts.get("run_name") or _text(root / "tags" / "mlflow.runName") or root.name)
    status = str(facts.get("status", ""))
    return [_finished(builder, metrics, _STATUS.get(status, status), name)]


def _settings(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters, which MLflow keeps as text, as what they were."""
    return settings_from(json.dumps({name: _CONSTANTS.get(value, str(value)) for name, value in params.items()}))


def _files_below(folder: Path) -> Iterable[tuple[str, Path]]:
    """Names and files; a name with '/' in it lies in folders of its own."""
    return [
        (path.relative_to(folder).as_posix(), path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and may_read(path)
    ]


def _text(path: Path) -> str:
    try:
        with open_file(path) as file:
            return file.read(_MAX_TEXT).decode("utf-8", errors="replace").strip()
    except OSError:
        return ""


def _points(path: Path, name: str, lost: list[str]) -> _Points:
    points = _Points()
    bad = 0
    for line in Source(path).lines():
        parts = line.split()
        try:
            points.add(float(parts[2]) if len(parts) > 2 else 0.0, float(parts[1]), float(parts[0]))
        except (ValueError, IndexError):
            bad += bool(parts)
    if bad:
        lost.append(f"Metric '{name}': {bad:,} lines are damaged and were left out.")
    return points


def _finished(builder: RunBuilder, metrics: Mapping[str, _Points], status: str, name: str) -> Run:
    for key, points in metrics.items():
        columns = (np.frombuffer(column, dtype=np.float64) for column in (points.steps, points.values, points.times))
        builder.series(str(key), *columns)  # damage may have left a key of any type
    if status == "FAILED":
        builder.events.append(Event("traceback", "MLflow marks the run as FAILED"))
    elif status == "KILLED":
        builder.events.append(Event("killed", "MLflow marks the run as KILLED"))
    elif status == "FINISHED":
        builder.events.append(Event("finished", "MLflow marks the run as FINISHED"))
    (run,) = builder.finish()
    align_clocks(run)
    run.name = name
    return run


def _is_run(meta: Path) -> bool:
    """Whether this meta.yaml describes a run; experiments and models have such a file too."""
    return bool({"run_id", "run_uuid"} & set(load_settings(meta)))


def _meta_above(path: Path) -> Path | None:
    """The meta.yaml of the run that a file in its metrics/ folder belongs to."""
    for folder in path.parents:
        if folder.name == "metrics" and (folder.parent / _META).is_file():
            return folder.parent / _META
    return None


READER = Reader("mlflow", "MLflow sqlite or file store", _sniff, _read, _claim)
