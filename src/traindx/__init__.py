"""traindx: why a training fails, proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traindx.version import __version__ as __version__

if TYPE_CHECKING:
    from traindx.fleet import compare as compare
    from traindx.live.outside.watching import watch as watch
    from traindx.opening import diagnose as diagnose
    from traindx.opening import read as read
    from traindx.probes.python import probe as probe
    from traindx.run import Run as Run
    from traindx.testing import assert_trains as assert_trains


_PUBLIC = {
    "Run": "traindx.run",
    "assert_trains": "traindx.testing",
    "compare": "traindx.fleet",
    "diagnose": "traindx.opening",
    "probe": "traindx.probes.python",
    "read": "traindx.opening",
    "watch": "traindx.live.outside.watching",
}


def __getattr__(name: str) -> Any:
    """The public names are imported when asked for and not before: some bring torch along, others numpy."""
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'traindx' has no attribute {name!r}")
