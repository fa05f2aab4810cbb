"""What `fix --write` leaves as it was: line endings, encoding, mode, links, and what an editor saved meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from traindx.errors import TraindxError
from traindx.trials import source_text
from traindx.trials.editing import diff_of
from traindx.trials.write import undo, write

CONTENTS = {
    "crlf": b"lr = 1\r\nprint(lr)\r\n",
    "mixed": b"lr = 1\r\nprint(lr)\n",
    "byte order mark": b"\xef\xbb\xbflr = 1\nprint(lr)\n",
    "latin-1": b"# -*- coding: latin-1 -*-\nname = '\xe9'\nlr = 1\n",
    "no end": b"lr = 1",
    "form feed": b"lr = 1\n\x0c\nprint(lr)\n",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
def test_only_the_changed_bytes_change(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(content)
    path.chmod(0o640)
    text = source_text.read(path)
    edits = {"train.py": text.replace("lr = 1", "lr = 2")}
    diff = diff_of(tmp_path, edits)
    assert [line[0] for line in diff.split("\n")[2:] if line.startswith(("+", "-"))] == ["-", "+"]
    write(tmp_path, edits)
    assert path.read_bytes() == content.replace(b"lr = 1", b"lr = 2")
    assert path.stat().st_mode & 0o777 == 0o640
    undo(tmp_path)
    assert path.read_bytes() == content


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "train.py").write_text("lr = 1\n")
    (tmp_path / "train.py").symlink_to("real/train.py")
    write(tmp_path, {"train.py": "lr = 2\n"})
    assert os.readlink(tmp_path / "train.py") == "real/train.py"
    assert (tmp_path / "real" / "train.py").read_text() == "lr = 2\n"


def test_a_file_with_two_names_stays_one_and_keeps_its_attributes(tmp_path: Path) -> None:
    for name in ("train.py", "alone.py"):
        (tmp_path / name).write_text("lr = 1\n")
    os.link(tmp_path / "train.py", tmp_path / "second.py")
    try:
        os.setxattr(tmp_path / "alone.py", "user.note", b"kept")
        marked = True
    except (OSError, AttributeError):  # not every system has them
        marked = False
    backup = write(tmp_path, {"train.py": "lr = 2\n", "alone.py": "lr = 2\n"})
    assert (tmp_path / "second.py").read_text() == "lr = 2\n"
    assert not marked or os.getxattr(tmp_path / "alone.py", "user.note") == b"kept"
    assert backup.stat().st_mode & 0o077 == 0


def test_what_an_editor_saved_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("lr = 3\n")
    with pytest.raises(TraindxError, match="saved by somebody else"):
        write(tmp_path, {"train.py": "lr = 2\n"}, {"train.py": b"lr = 1\n"})
    assert path.read_text() == "lr = 3\n"
