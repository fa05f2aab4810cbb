"""Applies an edit to the user's own files, with a backup, and takes it back."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from traindx.errors import TraindxError

FOLDER = ".traindx-backup"
_LIST = "list.json"


def write(root: Path, edits: Mapping[str, str]) -> Path:
    """Write new contents of files below the root; the old ones are kept. All of them or none."""
    backup = root / FOLDER / time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while backup.exists():
        number += 1
        backup = backup.with_name(f"{backup.name.partition('.')[0]}.{number}")
    try:
        backup.mkdir(parents=True)
        for place, name in enumerate(edits):
            (backup / str(place)).write_bytes((root / name).read_bytes())
        (backup / _LIST).write_text(json.dumps({"files": list(edits), "after": list(edits.values())}))
        for name, text in edits.items():
            _replace(root / name, text.encode())
    except OSError as error:
        raise TraindxError(
            f"{root} cannot be written: {error.strerror or error}.", "Apply the diff by hand."
        ) from error
    return backup


def undo(root: Path) -> list[str]:
    """Take the last edit back; files that were changed since are left alone and said."""
    kept = sorted((root / FOLDER).glob(f"*/{_LIST}"))
    if not kept:
        raise TraindxError(f"Nothing to undo in {root}.", "Run it in the directory where --write was used.")
    backup = kept[-1].parent
    data = json.loads(kept[-1].read_text())
    for name, text in zip(data["files"], data["after"], strict=True):
        if (root / name).read_text(encoding="utf-8") != text:
            raise TraindxError(
                f"{name} was changed after the fix: it is left alone.", f"The version before the fix is in {backup}."
            )
    for place, name in enumerate(data["files"]):
        _replace(root / name, (backup / str(place)).read_bytes())
        (backup / str(place)).unlink()
    kept[-1].unlink()
    backup.rmdir()
    if not any((root / FOLDER).iterdir()):
        (root / FOLDER).rmdir()
    return list(data["files"])


def _replace(path: Path, content: bytes) -> None:
    """In one step, so that a crash leaves the old file or the new one; the file's permissions stay."""
    new = path.with_name(f".{path.name}.traindx")
    new.write_bytes(content)
    new.chmod(path.stat().st_mode)
    os.replace(new, path)
