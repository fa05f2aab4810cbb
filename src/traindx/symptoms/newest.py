"""Symptoms that may come and go within a training: the newest judgement counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from traindx.diagnosis import Observation
from traindx.measurements import Kind


def newest(judgements: Iterable[Observation | None]) -> Observation | None:
    """The last one that is there, at the step from which on all agree with it. They come in the order of their
    steps."""
    found: Observation | None = None
    for one in judgements:
        if one is not None:
            found = one if found is None or found.state != one.state else replace(one, steps=found.steps)
    return found


def in_order(looks: Sequence[Kind]) -> list[Kind]:
    """Sorted by step, and of one step by the place that was met first: those that were held back are written last."""
    places = {place: number for number, place in enumerate(dict.fromkeys((type(one), one.where) for one in looks))}
    return sorted(looks, key=lambda one: (one.step, places[type(one), one.where]))
