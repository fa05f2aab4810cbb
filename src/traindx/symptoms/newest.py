"""Symptoms that may come and go within a training: the newest judgement counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from traindx.diagnosis import Observation


def newest(judgements: Iterable[Observation | None]) -> Observation | None:
    """The last one that says anything, at the step from which on all say the same. They come in the order of their steps."""
    found: Observation | None = None
    for one in judgements:
        if one is not None:
            found = one if found is None or found.state != one.state else replace(one, steps=found.steps)
    return found
