"""The copy of a project: code is copied, data is linked, and nothing of the user's changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindx.trials import workspace
from traindx.trials.workspace import Copy, Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(workspace, "LARGE_FILE", 1000)
    monkeypatch.setattr(workspace, "MOST_FILES", 5)
    root = tmp_path / "project"
    for name, size in {
        "train.py": 10,
        "big.bin": 2000,
        "package/part.py": 10,
        ".git/HEAD": 5,
        "run.traindx/rank-0.jsonl": 5,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x" * size)
    for number in range(8):
        (root / "data").mkdir(exist_ok=True)
        (root / "data" / f"{number}.png").write_bytes(b"x")
    monkeypatch.chdir(root)
    return root


def test_code_is_copied_and_data_is_linked(project: Path, tmp_path: Path) -> None:
    before = Project.of(["train.py"]).fingerprint()
    copy = Copy(Project.of(["train.py"]), tmp_path / "arm")
    copy.make({"package/part.py": "changed = True\n"})
    assert (copy.root / "package/part.py").read_text() == "changed = True\n"
    assert not (copy.root / "train.py").is_symlink()
    assert all((copy.root / name).is_symlink() for name in ("big.bin", "data", ".git"))
    assert not (copy.root / "run.traindx").exists()
    assert Project.of(["train.py"]).fingerprint() == before


def test_paths_into_the_project_lead_into_the_copy(project: Path, tmp_path: Path) -> None:
    copy = Copy(Project.of([str(project / "train.py")]), tmp_path / "arm")
    assert copy.argument(str(project / "train.py")) == str(copy.root / "train.py")
    assert copy.argument(f"--out={project}/runs") == f"--out={copy.root}/runs"
    assert copy.argument("train.py") == "train.py"


def test_a_script_elsewhere_is_copied_with_its_own_directory(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "settings.yaml").write_text("a: 1\n")
    monkeypatch.chdir(here)
    copy = Copy(Project.of(["../project/train.py"]), tmp_path / "arm")
    copy.make({})
    assert copy.argument("../project/train.py") == str(copy.root / "train.py")
    assert (copy.folder / "settings.yaml").read_text() == "a: 1\n"
