"""Runs made in memory for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from traindx.meaning import meaning_of
from traindx.measurements import Measured, Measurement
from traindx.run import Event, Fact, Run, Series


def run_of(
    series: Mapping[str, Any],
    config: Mapping[str, Any] | None = None,
    events: Sequence[Event] = (),
    facts: Sequence[Fact] = (),
    measured: Sequence[Measurement] = (),
    probed: Sequence[Measurement] = (),
) -> Run:
    """A run from values, or from (steps, values), by logged name."""
    run = Run(
        "memory", "memory", config=dict(config or {}), events=list(events), facts={fact.id: fact for fact in facts}
    )
    if measured:
        run.measured = [Measured(measured)]
    if probed:
        run.probed = [Measured(probed, probe="probe")]
    for name, given in series.items():
        steps, values = given if isinstance(given, tuple) else (range(len(given)), given)
        run.series[name] = Series(name, meaning_of(name), np.array(steps, float), np.array(values, float))
    return run
