"""Files beside a log that say which versions it ran with: the Trainer's model card, and W&B's list of packages."""

from __future__ import annotations

import json
import re
from pathlib import Path

from traindx.readers.formats.wandb_files import METADATA
from traindx.readers.reach import may_read, open_file
from traindx.versions import PACKAGES, is_version, listed_in, stated_in

CARD = "README.md"
_FROZEN = "requirements.txt"
_MAX_BYTES = 1 << 20
_SECTION = re.compile(r"^#+ Framework versions\s*$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE)


def on_card(path: Path) -> dict[str, str]:
    """The versions under 'Framework versions' of a model card; a card without that section says nothing."""
    section = _SECTION.search(_text(path))
    found: dict[str, str] = {}
    for line in section.group(1).splitlines() if section is not None else ():
        found.update(stated_in(line))
    return found


def frozen_in(home: Path) -> dict[str, str]:
    """The packages and the Python that W&B noted in the folder of a run."""
    every = listed_in(_text(home / _FROZEN).splitlines())
    found = {package: version for package, version in every.items() if package in PACKAGES}
    try:
        python = json.loads(_text(home / METADATA) or "{}").get("python")
    except (ValueError, RecursionError, AttributeError):
        python = None
    word = python.split()[-1] if isinstance(python, str) and python.split() else ""  # '3.10.12' or 'CPython 3.10.12'
    return {**found, "python": word} if is_version(word) else found


def _text(path: Path) -> str:
    if not path.is_file() or not may_read(path):
        return ""
    try:
        with open_file(path) as file:
            return file.read(_MAX_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
