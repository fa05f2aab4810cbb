"""traindx: why a training fails, proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traindx.version import __version__ as __version__

if TYPE_CHECKING:
    from traindx.live.watching import watch as watch


def __getattr__(name: str) -> Any:
    """`traindx.watch` brings torch along, so it is imported when it is asked for and not before."""
    if name == "watch":
        from traindx.live.watching import watch

        return watch
    raise AttributeError(f"module 'traindx' has no attribute {name!r}")
