"""What a run shows, as the engine weighs it."""

from __future__ import annotations

from typing import Any

from traindx.engine.context import hints
from traindx.engine.observe import observe
from traindx.run import Run
from traindx.signals import Signals


def evidence(run: Run) -> dict[str, Any]:
    """All that the engine weighs: observations that are known, hints, and whether the training is of a strange kind."""
    signals = Signals(run)
    observations = observe(signals)
    return {
        "observations": [
            [o.id, o.state == "present", round(o.clarity, 3)] for o in observations if o.state != "unknown"
        ],
        "hints": [[hint.cause, round(hint.log_odds, 3)] for hint in hints(signals, observations)],
        "unfamiliar": signals.kind != "supervised",
    }
