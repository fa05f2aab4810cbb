"""What is kept of the source beside a recording."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from traindx.live.host.source_state import FOLDER, STATE, taken

SCRIPT = "lr = 0.1\n"
SECRET = "api_key = 'sk-abcdefghijklmnopqrstuvwxyz0123456789AB'\n"


def git(place: Path, *words: str) -> None:
    name = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    subprocess.run(["git", *name, *words], cwd=place, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "config.yaml").write_text("lr: 0.1\n")
    recording = tmp_path / "train.traindx"
    recording.mkdir()
    (recording / "rank-0.jsonl").write_text('{"k": "end"}\n')
    return tmp_path


def kept(project: Path) -> tuple[dict[str, object], set[str]]:
    place = project / "train.traindx" / FOLDER
    return json.loads((place / STATE).read_text()), {path.name for path in place.iterdir()}


def test_commit_and_changes_are_kept_without_secrets(project: Path) -> None:
    git(project, "init", "-q")
    git(project, "add", "train.py", "config.yaml")
    git(project, "commit", "-qm", "first")
    (project / "train.py").write_text(SCRIPT + SECRET)
    taken(["train.py", "--config=config.yaml"]).keep(project / "train.traindx")
    state, names = kept(project)
    assert len(str(state["commit"])) == 40
    assert state["changed"] is True
    assert names == {STATE, "changes.diff", "train.py", "config.yaml"}
    texts = "".join(path.read_text() for path in (project / "train.traindx" / FOLDER).iterdir())
    assert "+api_key" in texts
    assert "abcdefghij" not in texts
    assert f'"recording.commit": "{state["commit"]}"' in (project / "train.traindx" / "rank-0.jsonl").read_text()


def test_without_git_the_script_and_its_settings_are_kept(project: Path) -> None:
    taken(["train.py", "--config", "config.yaml"]).keep(project / "train.traindx")
    state, names = kept(project)
    assert "commit" not in state
    assert {"train.py", "config.yaml"} <= names
    assert (project / "train.traindx" / FOLDER / "train.py").read_text() == SCRIPT


def test_a_private_recording_keeps_no_text(project: Path) -> None:
    taken(["train.py", "--config", "config.yaml"], private=True).keep(project / "train.traindx")
    assert kept(project)[1] == {STATE}


def test_where_nothing_was_recorded_nothing_is_written(project: Path) -> None:
    taken(["train.py"]).keep(project / "other.traindx")
    assert not (project / "other.traindx").exists()
