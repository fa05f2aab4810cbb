"""The case book beside what a command says: one call, which costs nothing where the book is off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from traindx.cli.talk import say

if TYPE_CHECKING:
    from traindx.diagnosis import Diagnosis
    from traindx.engine.context import Hint


def remembered(page: Diagnosis, made_by: str, again: Callable[[Sequence[Hint]], Diagnosis]) -> Diagnosis:
    """The diagnosis with what past cases add to it; it is written down on the way."""
    from traindx.casebook.places import book_path

    if book_path() is None:
        return page
    from traindx.casebook.consulting import consult

    return consult(page, made_by, again, say)
