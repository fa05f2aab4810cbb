"""Stable-Baselines: `progress.csv`, and the episodes in `monitor.csv`, one file for each parallel environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from traindx.meaning import Meaning
from traindx.readers.base import CERTAIN, LIKELY, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.reach import may_read
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.frames import Frame
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import layout_of
from traindx.run import Floats, Run

_MONITOR_SUFFIX = "monitor.csv"
_MONITOR = ("r", "l", "t")  # reward and length of an episode, seconds since the file was begun
_PROGRESS_KEYS = frozenset({
    "rollout/ep_rew_mean", "time/total_timesteps", "time/fps", "eprewmean", "ep_rewmean", "ep_reward_mean",
    "mean 100 episode reward", "misc/total_timesteps", "total_timesteps", "eplenmean",
})  # fmt: skip


def sniff(source: Source) -> float:
    layout = layout_of(source)
    if layout is None:
        return 0.0
    if layout.names[:3] == _MONITOR and layout.delimiter == ",":
        return CERTAIN if layout.comments else LIKELY
    own = _PROGRESS_KEYS & set(layout.names)
    return LIKELY if own and (len(own) > 1 or any("/" in name for name in own)) else 0.0


def read(source: Source) -> list[Run]:
    layout = layout_of(source)
    if layout is not None and layout.names[:3] == _MONITOR:
        return _read_monitors(source)
    sink = Sink(source, READER.name, elapsed=["time/time_elapsed"])
    read_table(source, sink)
    return sink.finish()


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    """The monitor files of one folder are the parallel environments of one training."""
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if path.name.endswith(_MONITOR_SUFFIX) and sniff(Source(path)) == CERTAIN:
            folders.setdefault(path.parent, []).append(path)
    return [Bundle(paths[0], frozenset(paths)) for paths in map(_in_order, folders.values())]


class _Episodes(Sink):
    """Gathers the episodes of one monitor file."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, READER.name)
        self.parts: list[dict[str, Floats]] = []

    def add(self, frame: Frame) -> None:
        if all(name in frame.numbers for name in _MONITOR):
            self.parts.append({name: values for name, (values, _) in frame.numbers.items()})


def _read_monitors(source: Source) -> list[Run]:
    """Episodes of all environments in the order they ended; the step counts the environment steps so far."""
    builder = RunBuilder(source.name, READER.name)
    parts: list[dict[str, Floats]] = []
    for path in _siblings(source.path):
        file = source if path == source.path else Source(path)
        layout = layout_of(file)
        if layout is None or layout.names[:3] != _MONITOR:
            continue
        episodes = _Episodes(file)
        read_table(file, episodes)
        started = episodes.main.config.get("t_start")
        offset = started if isinstance(started, int | float) else 0.0
        parts.extend({**part, "t": part["t"] + offset} for part in episodes.parts)
        builder.config = {**episodes.main.config, **builder.config}
        builder.lost.extend(episodes.main.lost)
    builder.declare("episode_reward", Meaning("reward", "", "max"))
    builder.declare("episode_length", Meaning("other"))
    if parts:
        _add_episodes(builder, parts, parallel=len(_siblings(source.path)) > 1)
    return builder.finish()


def _add_episodes(builder: RunBuilder, parts: Sequence[dict[str, Floats]], *, parallel: bool) -> None:
    names = list(dict.fromkeys(name for part in parts for name in part))
    columns = {
        name: np.concatenate([part.get(name, np.full(len(part["r"]), np.nan)) for part in parts]) for name in names
    }
    order = np.argsort(columns["t"], kind="stable") if parallel else slice(None)
    ordered = {name: values[order] for name, values in columns.items()}
    ended, rewards, lengths = ordered.pop("t"), ordered.pop("r"), ordered.pop("l")
    with np.errstate(over="ignore"):  # a damaged file can claim any length
        step = np.cumsum(np.nan_to_num(lengths))
    builder.table({"episode_reward": rewards, "episode_length": lengths, **ordered}, step=step, time=ended)


def _siblings(path: Path) -> list[Path]:
    """The monitor files of the same training: 0.monitor.csv, 1.monitor.csv, …"""
    if not path.name.endswith(_MONITOR_SUFFIX) or not path.name.split(".")[0].isdecimal():
        return [path]
    return _in_order(
        [
            other
            for other in filter(may_read, path.parent.glob(f"*.{_MONITOR_SUFFIX}"))
            if other.name.split(".")[0].isdecimal()
        ]
    )


def _in_order(paths: Sequence[Path]) -> list[Path]:
    return sorted(
        paths, key=lambda path: (int(path.name.split(".")[0]) if path.name.split(".")[0].isdecimal() else 0, path.name)
    )


READER = Reader("sb3", "Stable-Baselines progress.csv and monitor.csv", sniff, read, claim)
