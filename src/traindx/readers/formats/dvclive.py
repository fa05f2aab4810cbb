"""DVCLive: a folder with one TSV a metric under plots/metrics, the last values in metrics.json, settings in
params.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from traindx.errors import TraindxError
from traindx.meaning import meaning_of
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.reach import may_read
from traindx.readers.settings import load_settings
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import peek
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import layout_of
from traindx.run import Run

_PLOTS = (Path("plots/metrics"), Path("plots/scalars"), Path("scalars"))  # 2 and 3, 1.x, 0.x
_SUMMARY = "metrics.json"
_SETTINGS = ("params.yaml", "params.json")


def sniff(source: Source) -> float:
    root = _root(source.path)
    if root is None:
        return 0.0
    if source.path.name == _SUMMARY:
        return CERTAIN if isinstance(peek(source), dict) else 0.0
    layout = layout_of(source)
    return CERTAIN if layout is not None and "step" in layout.names[:2] and layout.width <= 3 else 0.0


def read(source: Source) -> list[Run]:
    root = _root(source.path)
    plots = _plots(root) if root is not None else None
    if root is None or plots is None:
        raise TraindxError(f"{source.name} belongs to no DVCLive folder.", "Give the folder that holds plots/metrics.")
    sink = Sink(source, READER.name, one_run=True)
    for name in _SETTINGS:
        for folder in (root, root.parent):
            if (folder / name).is_file():
                sink.main.config.update(load_settings(folder / name))
    for path in sorted(filter(may_read, plots.rglob("*.tsv"))):
        tag = path.relative_to(plots).with_suffix("").as_posix()
        if meaning_of(tag).kind != "step":
            _read_metric(Source(path), tag, sink)
    if not len(sink):
        raise TraindxError(
            f"{root} has no metrics under {plots.relative_to(root)}.", "Was anything logged with log_metric?"
        )
    return sink.finish()


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    """Every DVCLive folder among these files."""
    roots: dict[Path, list[Path]] = {}
    for path in files:
        root = _root(path) if path.suffix == ".tsv" else None
        if root is not None:
            roots.setdefault(root, []).append(path)
    bundles = []
    for root, metrics in roots.items():
        others = [path for path in files if path in (root / _SUMMARY, *(root / name for name in _SETTINGS))]
        bundles.append(
            Bundle(next((path for path in others if path.name == _SUMMARY), metrics[0]), frozenset([*metrics, *others]))
        )
    return bundles


def _read_metric(source: Source, tag: str, sink: Sink) -> None:
    """One file: the step and the value, whose column has only the last part of the tag for a name."""

    def named(names: Sequence[str]) -> list[str]:
        return [tag if index == len(names) - 1 else name for index, name in enumerate(names)]

    if not read_table(source, sink, named):
        sink.main.lost.append(f"{source.path.name} cannot be read")


def _root(path: Path) -> Path | None:
    """The DVCLive folder this file belongs to."""
    if path.name == _SUMMARY:
        return path.parent if _plots(path.parent) is not None else None
    for folder in path.parents:
        for plots in _PLOTS:
            if folder.parts[-len(plots.parts) :] == plots.parts:
                return Path(*folder.parts[: -len(plots.parts)])
    return None


def _plots(root: Path) -> Path | None:
    return next((root / plots for plots in _PLOTS if (root / plots).is_dir()), None)


READER = Reader("dvclive", "DVCLive", sniff, read, claim)
