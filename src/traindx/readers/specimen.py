"""A run that is known to be sick, read like any log: to see that everything works, and to have everything loaded."""

from __future__ import annotations

import io

from traindx.readers.find import runs_from_stream
from traindx.run import Run

CALM, GROWING = 100, 200  # steps: flat up to the first, growing to the second


def diverging() -> Run:
    """A loss that rests and then grows without end."""
    rows = "".join(f"{step},{0.5 if step < CALM else float(step)}\n" for step in range(GROWING))
    return runs_from_stream(io.BytesIO(f"step,loss\n{rows}".encode()))[0]
