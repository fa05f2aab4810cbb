"""traindx: why a training fails, proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from traindx.version import __version__ as __version__

if TYPE_CHECKING:
    from traindx.fleet import compare as compare
    from traindx.live.watching import watch as watch
    from traindx.probes.python import probe as probe
    from traindx.testing import assert_trains as assert_trains


def __getattr__(name: str) -> Any:
    """`traindx.watch`, `traindx.probe` and `traindx.assert_trains` bring torch along, `traindx.compare` numpy: imported when asked for and not before."""
    if name == "watch":
        from traindx.live.watching import watch

        return watch
    if name == "probe":
        from traindx.probes.python import probe

        return probe
    if name == "assert_trains":
        from traindx.testing import assert_trains

        return assert_trains
    if name == "compare":
        from traindx.fleet import compare

        return compare
    raise AttributeError(f"module 'traindx' has no attribute {name!r}")
