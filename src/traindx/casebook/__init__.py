"""The case book: every diagnosis, what its user said of it and what trials proved, in one local SQLite file.

It serves the diagnosis and never stands in its way: whatever is wrong with the file costs one line. Nothing leaves the
machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traindx.casebook.consulting import consult as consult
    from traindx.casebook.consulting import record_trial as record_trial


def __getattr__(name: str) -> Any:
    """`consult` and `record_trial` bring the engine along, so they are imported when asked for: whoever has the book
    turned off pays nothing for it."""
    if name in ("consult", "record_trial"):
        from traindx.casebook import consulting

        return getattr(consulting, name)
    raise AttributeError(f"module 'traindx.casebook' has no attribute {name!r}")
