"""What must not leave the machine in a text made for pasting: secrets, addresses of people, and where files lie."""

from __future__ import annotations

import os
import re

from traindx.secrets import HIDDEN, hidden

_PEOPLE = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
_IN_ADDRESS = re.compile(r"(\w+://)[^\s/@]+@|(\w+://[^\s?]+)\?\S+")
_PATH = re.compile(r"(?<![\w:/.~\\])(?:~|[A-Za-z]:|\.{1,2})?(?:[/\\][^\s/\\:'\"`*?<>|]+)+[/\\]?")


def scrubbed(text: str, source: str = "") -> str:
    """The text without secrets, with every path cut to its last part; `source` is the run's own, which may hold
    blanks."""
    if source:
        text = text.replace(source, base_of(source))
    text = _IN_ADDRESS.sub(lambda match: match.group(1) or match.group(2), text)
    text = _PEOPLE.sub(HIDDEN, hidden(text))
    return _PATH.sub(lambda match: base_of(match.group()), text)


def base_of(path: str) -> str:
    """The last part of a path of either kind."""
    return os.path.basename(path.replace("\\", "/").rstrip("/")) or path
