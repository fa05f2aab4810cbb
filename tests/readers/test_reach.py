"""Where readers may look: nothing that a log leads to is opened outside of the allowed directories."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from traindx.errors import TraindxError
from traindx.readers.find import find_runs
from traindx.readers.units import runs_of, units_in

GOLDEN = Path(__file__).parents[1] / "golden"
FAMILIES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and path.name != "make")
_watched: list[str] | None = None


def _note(event: str, details: tuple[object, ...]) -> None:
    if _watched is not None and event in ("open", "sqlite3.connect", "shutil.copyfile") and details:
        _watched.append(os.fsdecode(details[0]) if isinstance(details[0], str | bytes | os.PathLike) else "")


sys.addaudithook(_note)  # there is no way to take it away again; it costs nothing while nobody watches


@contextmanager
def opened() -> Iterator[list[str]]:
    """Every file that is opened inside."""
    global _watched
    _watched = names = []
    try:
        yield names
    finally:
        _watched = None


def outside(names: list[str], folder: Path) -> list[str]:
    paths = (name.removeprefix("file://").partition("?")[0] for name in names)
    return [path for path in paths if Path(path).resolve().is_relative_to(folder)]


def inside(root: Path) -> Callable[[Path], bool]:
    return lambda path: path.resolve().is_relative_to(root)


def read(path: Path, root: Path) -> None:
    with suppress(TraindxError):  # of most runs one file alone tells nothing
        find_runs([path], allowed=inside(root))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_link_leads_a_reader_out(family: str, tmp_path: Path) -> None:
    """One file of a real run is there, all others are links to a directory that is not allowed; and the run as it is in
    a root that ends below its settings."""
    secret, root = tmp_path / "secret", tmp_path / "root"
    shutil.copytree(GOLDEN / family, secret)
    files = [path.relative_to(secret) for path in secret.rglob("*") if path.is_file()]
    for real in files[:: max(1, len(files) // 6)]:
        shutil.rmtree(root, ignore_errors=True)
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            if file == real:
                shutil.copy(secret / file, root / file)
            else:
                (root / file).symlink_to(secret / file)
        with opened() as names:
            read(root, root)
            read(root / real, root)
        assert outside(names, secret) == [], real
    folder = max((secret / file for file in files), key=lambda path: len(path.parts)).parent
    with opened() as names:
        read(folder, folder)
    assert [path for path in outside(names, secret) if not Path(path).resolve().is_relative_to(folder)] == []


def test_a_folder_that_is_a_link_is_no_way_out(tmp_path: Path) -> None:
    secret, root = tmp_path / "secret", tmp_path / "root"
    shutil.copytree(GOLDEN / "mlflow", secret)
    root.mkdir()
    (root / "loss.csv").write_text("step,loss\n" + "".join(f"{step},{1 / (step + 1)}\n" for step in range(50)))
    for name in ("files", ".hydra", "config", "metrics", "params", "more"):
        (root / name).symlink_to(secret)
    with opened() as names:  # as a worker of `compare` reads
        found = [runs_of(unit, inside(root))[0] for unit in units_in([root], inside(root))]
    assert [Path(run.source).name for runs in found for run in runs] == ["loss.csv"]
    assert outside(names, secret) == []


def test_without_a_limit_links_are_read_as_ever(tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text("lr: 0.3\n")
    log = tmp_path / "own" / "loss.csv"
    log.parent.mkdir()
    log.write_text("step,loss\n" + "".join(f"{step},{1 / (step + 1)}\n" for step in range(50)))
    (log.parent / "config.yaml").symlink_to(settings)
    assert find_runs([log])[0].config == {"lr": 0.3}
    assert find_runs([log], allowed=inside(log.parent))[0].config == {}
