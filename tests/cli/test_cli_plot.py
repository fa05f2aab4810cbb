"""`traindx plot`: real PNG files with something on them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from traindx.cli import main

Log = Callable[..., Path]


def size_of(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_one_run_one_figure(log: Log, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    target = tmp_path / "run.png"
    assert main(["plot", str(log("a.csv", sick=True)), "-o", str(target)]) == 0
    width, height = size_of(target)
    assert width > 1000
    assert height > 400
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "run.png" in captured.err


def test_several_runs_give_an_overlay_and_a_figure_each(log: Log, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    paths = [str(log("a.csv")), str(log("b.csv", start=3.0))]
    assert main(["plot", *paths, "-o", str(tmp_path / "both.png")]) == 0
    assert all(size_of(tmp_path / name) for name in ("both.png", "both-1.png", "both-2.png"))


def test_without_matplotlib_it_says_how_to_get_it(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("traindx.reporters.figure.find_spec", lambda _: None)
    assert main(["plot", str(log("a.csv")), "-o", str(tmp_path / "x.png")]) == 2
    assert 'pip install "traindx[png]"' in capsys.readouterr().err


def test_unwritable_target(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(log("a.csv")), "-o", "/nowhere/x.png"]) == 2
    assert "/nowhere does not exist" in capsys.readouterr().err
