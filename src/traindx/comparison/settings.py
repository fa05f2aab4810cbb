"""What differs in the settings of runs, under one name whatever each tool calls it, and which runs differ in the seed
alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from traindx.comparison.summary import Summary
from traindx.meaning import Kind, meaning_of, tokens_of
from traindx.signals import lookup

UNSET = "unset"
Value = str | float
_SEEDS = frozenset(
    {
        "seed",
        "randomseed",
        "manualseed",
        "globalseed",
        "dataseed",
        "torchseed",
        "npseed",
        "trainseed",
        "rngseed",
        "seedeverything",
    }
)
# names of files, machines, times and of the run itself: they differ always and explain nothing
_NOISE_WORDS = frozenset(
    {"dir", "path", "file", "folder", "name", "id", "uuid", "host", "hostname", "time", "timestamp", "date", "datetime",
     "pid",
     "port", "rank", "user", "username", "version", "url", "project", "entity", "tag", "tags", "notes", "group",
     "commit",
     "experiment", "output", "logging", "logger", "log", "save", "resume", "command", "argv", "git", "platform",
     "python",
     "cost", "parameters_seen", "run", "program", "cli", "filename", "directory", "checkpoint", "flos", "flops",
     "runtime"}
)  # fmt: skip
_RESULTS: frozenset[Kind] = frozenset(
    {"loss", "score", "reward", "perplexity", "error", "likelihood", "throughput", "time", "step_time", "data_time",
     "memory",
     "utilisation", "step", "epoch", "stamp"}
)  # fmt: skip
_WEIGHTS = frozenset(
    {"weight", "weights", "coef", "coeff", "lambda", "alpha", "beta", "gamma", "scale", "smoothing", "margin"}
)
# what a recorder measured on the way; the settings behind it have names of their own
_MEASURED = frozenset(
    {"label_entropy", "multilabel_entropy", "loss_by_one_term", "mse_target_variance", "mse_by_variance",
     "first_output_std", "first_target_std", "cpu_queue", "model_layers", "model_recurrent", "model_narrowest"}
)  # fmt: skip
_NOISE_STARTS = ("recording.", "wandb", "_wandb", "mlflow.", "hydra.", "system.", "slurm", "logged.peak")
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])")
_PAIR = re.compile(r"([A-Za-z][A-Za-z_.]*?)=([^,=/\s]+?)(?=$|[,/\s]|[_-][A-Za-z][A-Za-z_.]*=)")
_GLUED = re.compile(
    r"(?:^|[_\-./])(seed|lr|bs|wd|dropout|width|depth)[-_]?(\d[\d.]*(?:e-?\d+)?)(?=$|[_\-./])", re.IGNORECASE
)
_ALIAS = {alias: name for name, aliases in lookup.ALIASES.items() for alias in aliases}


@dataclass(frozen=True, slots=True)
class Table:
    """The settings that matter here: `values[i][name]` of run i, for the names that differ; `seeds[i]`; how many are
    the same; `known[i]` says whether anything at all is known of run i."""

    names: tuple[str, ...]
    values: tuple[Mapping[str, Value], ...]
    seeds: tuple[Value | None, ...]
    known: tuple[bool, ...]
    same: int


def tabulate(runs: Sequence[Summary]) -> Table:
    """The differing settings of these runs. A setting that only some runs tell differs only if those disagree, or if
    every run has settings of its own and one lacks it."""
    rows = [_settings(run) for run in runs]
    seeds = tuple(next((row[key] for key in row if _is_seed(key)), None) for row in rows)
    known = tuple(any(not _is_seed(key) for key in row) for row in rows)
    counts: dict[str, dict[Value, int]] = {}
    for row in rows:
        for key, value in row.items():
            if not _is_seed(key):
                counts.setdefault(key, {})
                counts[key][value] = counts[key].get(value, 0) + 1
    informed = sum(known)
    names = [
        key
        for key, seen in counts.items()
        if len(seen) > 1 or (0 < sum(seen.values()) < informed and not _tool_specific(key, rows, runs))
    ]
    values = tuple({name: row.get(name, UNSET) for name in names} for row in rows)
    return Table(tuple(names), values, seeds, known, len(counts) - len(names))


def groups_of(table: Table) -> list[list[int]]:
    """Runs that differ in the seed alone, in order. A run of unknown settings stands by itself."""
    by_settings: dict[Any, list[int]] = {}
    for place, row in enumerate(table.values):
        key = tuple(row[name] for name in table.names) if table.known[place] else ("unknown", place)
        by_settings.setdefault(key, []).append(place)
    return list(by_settings.values())


def numeric(value: Value) -> bool:
    return isinstance(value, float)


def shown(value: Value) -> str:
    """A setting as one would write it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value


def _settings(run: Summary) -> dict[str, Value]:
    """One flat table of names and comparable values: numbers as floats, everything else as text."""
    found: dict[str, Value] = {}
    from_name = _in_name(run)
    for key, value in [*run.config.items(), *from_name.items()]:
        if value is None or key in _MEASURED or _is_noise(key) or _is_result(key, value):
            continue
        found.setdefault(_canonical(key, run.config), _value(value))
    peak = run.config.get("logged.peak_lr")
    if "lr" not in found and isinstance(peak, float):
        found["lr"] = float(f"{peak:.3g}")  # a schedule's peak is logged with rounding
    return found


def _canonical(key: str, config: Mapping[str, Any]) -> str:
    """The usual name of a setting; a key that merely ends like one keeps its own, where another is the shorter."""
    last = _last(key)
    usual = _ALIAS.get(last)
    if usual is None:
        return key
    rivals = [other for other in config if _last(other) == last]
    return (
        usual
        if not rivals or min(rivals, key=lambda name: (name.count("."), len(name))) == key or key not in config
        else key
    )


def _value(value: Any) -> Value:
    if isinstance(value, bool):
        return str(value).lower()
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else str(value)


def _in_name(run: Summary) -> dict[str, str]:
    """Settings that the path tells: 'lr=0.1,bs=32/seed=3', 'lr1e-3_seed2.csv'."""
    path = PurePath(run.source)
    text = "/".join([*path.parts[-3:-1], re.sub(r"\.(csv|tsv|jsonl?|log|txt|out)$", "", path.name), run.name])
    found = {key.split("/")[-1].strip("._-"): value for key, value in _PAIR.findall(text)}
    for key, value in _GLUED.findall(text):
        found.setdefault(key.lower(), value.rstrip("."))
    return {key: value for key, value in found.items() if key}


def _is_seed(key: str) -> bool:
    return _last(key) in _SEEDS


def _is_noise(key: str) -> bool:
    if key.lower().startswith(_NOISE_STARTS):
        return True
    words = [word.lower() for word in _WORDS.split(re.split(r"[./]", key)[-1]) if word]
    return bool(words) and bool(set(words) & _NOISE_WORDS)


def _is_result(key: str, value: Any) -> bool:
    """Trainers write what came out ('train_loss', 'train_runtime') beside what was set; a weight of a loss is a
    setting."""
    if isinstance(value, str | bool) or set(tokens_of(key)) & _WEIGHTS or _last(key) in _ALIAS or _is_seed(key):
        return False
    return meaning_of(key).kind in _RESULTS


def _last(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]", key)[-1].lower())


def _tool_specific(key: str, rows: Sequence[Mapping[str, Value]], runs: Sequence[Summary]) -> bool:
    """A setting that one tool always writes and another never does is no difference between the trainings."""
    having = {run.format for run, row in zip(runs, rows, strict=True) if key in row}
    return all(key in row for run, row in zip(runs, rows, strict=True) if run.format in having and row)
