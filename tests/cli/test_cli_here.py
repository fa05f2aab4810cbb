"""`traindx` without arguments says what lies here and what to type."""

from __future__ import annotations

import os
from pathlib import Path

from traindx.cli.here import MAX_ENTRIES, look_around, offers


def test_scripts_logs_and_recordings_get_their_command(tmp_path: Path) -> None:
    (tmp_path / "my train.py").write_text("import torch\nloss.backward()\n")
    (tmp_path / "helpers.py").write_text("import torch\n")
    (tmp_path / "run.traindx").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "trainer_state.json").write_text("{}")
    found = look_around(tmp_path)
    assert [path.name for path in found.scripts] == ["my train.py"]
    text = "\n".join(offers(found))
    assert f"traindx run '{tmp_path}/my train.py'" in text
    assert "traindx diagnose" in text
    assert "all runs here" in text


def test_newest_first_and_nothing_found(tmp_path: Path) -> None:
    assert not look_around(tmp_path)
    for age, name in enumerate(("new", "old")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.csv").write_text("step,loss\n")
        os.utime(tmp_path / name / "metrics.csv", (1e9 - age, 1e9 - age))
    assert look_around(tmp_path).logs[0].parent.name == "new"


def test_environments_links_and_large_trees_are_not_searched(tmp_path: Path) -> None:
    environment = tmp_path / "env"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("")
    (environment / "train.py").write_text("import torch\nloss.backward()\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    many = tmp_path / "many"
    many.mkdir()
    for number in range(MAX_ENTRIES + 10):
        (many / f"{number:05}.png").touch()
    (many / "zz_metrics.csv").touch()
    assert not look_around(tmp_path)
