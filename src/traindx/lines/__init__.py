"""The line of a cause: which place in the user's code is the one to change. Pure: it reads what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from traindx.diagnosis import Observation
from traindx.lines.finders import FINDERS
from traindx.lines.look import Look
from traindx.measurements import Measured


def line_of(ways: Sequence[str], measured: Sequence[Measured], seen: Sequence[Observation] = ()) -> str | None:
    """file:line by the first of these ways that finds one; `seen` are the symptoms that speak for the cause, whose own
    place is the last resort."""
    look = Look(measured[0] if measured else Measured(), seen)
    for way in (*ways, "symptom"):
        found = FINDERS[way](look)
        if found:
            return found
    return None
