"""Applies an edit to the user's own files, with a backup, and takes it back."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from traindx.errors import TraindxError
from traindx.trials.source_text import encoded_like

FOLDER = ".traindx-backup"
_LIST = "list.json"


def write(root: Path, edits: Mapping[str, str], seen: Mapping[str, bytes] | None = None) -> Path:
    """Write new contents of files below the root; the old ones are kept. All of them or none. `seen` is what the edit
    was made from: a file that was saved since is left alone."""
    for name, content in (seen or {}).items():
        if (root / name).read_bytes() != content:
            raise TraindxError(
                f"{name} was saved by somebody else meanwhile: nothing was changed.", "Run traindx fix again."
            )
    backup = root / FOLDER / time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while backup.exists():
        number += 1
        backup = backup.with_name(f"{backup.name.partition('.')[0]}.{number}")
    try:
        backup.mkdir(parents=True)
        backup.chmod(stat.S_IRWXU)  # a file in it may have been its owner's alone
        new = {name: encoded_like((root / name).read_bytes(), text) for name, text in edits.items()}
        for place, name in enumerate(edits):
            (backup / str(place)).write_bytes((root / name).read_bytes())
        (backup / _LIST).write_text(json.dumps({"files": list(edits), "after": [_mark(data) for data in new.values()]}))
        for name, data in new.items():
            _replace(root / name, data)
    except UnicodeEncodeError as error:
        raise TraindxError(
            f"The fix cannot be written in the encoding of the file: {error}.", "Apply the diff by hand."
        ) from error
    except OSError as error:
        raise TraindxError(
            f"{root} cannot be written: {error.strerror or error}.", "Apply the diff by hand."
        ) from error
    return backup


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def undo(root: Path) -> list[str]:
    """Take the last edit back; files that were changed since are left alone and said."""
    kept = sorted((root / FOLDER).glob(f"*/{_LIST}"))
    if not kept:
        raise TraindxError(f"Nothing to undo in {root}.", "Run it in the directory where --write was used.")
    backup = kept[-1].parent
    data = json.loads(kept[-1].read_text())
    for name, mark in zip(data["files"], data["after"], strict=True):
        if _mark((root / name).read_bytes()) != mark:
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
    """In one step, so that a crash leaves the old file or the new one; its permissions, owner and attributes stay, and
    a link still leads to it. A file with a second name is written in place, since a new one would part them."""
    path = path.resolve()
    status = path.stat()
    if status.st_nlink > 1:
        path.write_bytes(content)
        return
    new = path.with_name(f".{path.name}.traindx")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (new.stat().st_uid, new.stat().st_gid):
        with contextlib.suppress(OSError):  # whoever may not give it away keeps it
            os.chown(new, status.st_uid, status.st_gid)
    modified = new.stat()
    shutil.copystat(path, new)  # the mode and extended attributes; the time is that of the change
    os.utime(new, ns=(modified.st_atime_ns, modified.st_mtime_ns))
    os.replace(new, path)
