"""How far a command came with the recorder in it, as its processes report to the one that launched it: through a file,
because they may end in any way. No torch here: this also speaks for scripts that never import it."""

from __future__ import annotations

import contextlib
import json
import os
from typing import NamedTuple

from traindx import version
from traindx.live.host.exceptions import before_uncaught, described
from traindx.secrets import hidden

SEEN = "TRAINDX_SEEN"  # the file: lines 'python' and 'torch' for what the recorder has met, 'wall' if it cannot write
_DIED = "died "  # begins the line of an exception that nobody caught; the rest is JSON
MAX_CHARACTERS = 160  # characters of its message: it was shown in full just before
_OWN = os.path.dirname(os.path.abspath(version.__file__)) + os.sep  # of the package


class Reached(NamedTuple):
    """What the file says."""

    words: frozenset[str] = frozenset()
    died: str = ""  # the first exception that nobody caught: those of processes that waited for its process come later


def note(word: str) -> None:
    """Tell the process that launched this one how far the recorder has come."""
    path = os.environ.get(SEEN)
    if path:
        with contextlib.suppress(OSError), open(path, "a", encoding="ascii") as file:
            file.write(f"{word}\n")


def note_exceptions() -> None:
    """Tell it of an exception that ends this process, too; it is shown and handled as ever."""
    if os.environ.get(SEEN):
        before_uncaught(lambda error: note(_DIED + json.dumps(hidden(_sentence(error)))))


def read(text: str) -> Reached:
    lines = text.splitlines()
    died = next((json.loads(line.removeprefix(_DIED)) for line in lines if line.startswith(_DIED)), "")
    return Reached(frozenset(line for line in lines if not line.startswith(_DIED)), died)


def _sentence(error: BaseException) -> str:
    """`ValueError at train.py:3: what it says`."""
    at, says = _place(error), error.msg if isinstance(error, SyntaxError) else described(error)[1].partition(": ")[2]
    says = says if len(says) <= MAX_CHARACTERS else f"{says[:MAX_CHARACTERS]}…"
    return f"{type(error).__name__}{f' at {at}' if at else ''}{f': {says}' if says else ''}"


def _place(error: BaseException) -> str:
    """file:line of the innermost of the user's lines; of the innermost at all where a library was run."""
    import sysconfig  # every process of the command imports this module, few need these
    from traceback import walk_tb

    libraries = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        places.append((error.filename, error.lineno))  # this line was never run, so that no frame has it
    places = [(path, line) for path, line in places if not path.startswith(("<", _OWN))]
    if not places:
        return ""
    path, line = ([place for place in places if not place[0].startswith(libraries)] or places)[-1]
    with contextlib.suppress(OSError):  # the working directory may be gone
        here = os.getcwd()
        return f"{os.path.relpath(path, here) if path.startswith(here + os.sep) else path}:{line}"
    return f"{path}:{line}"
