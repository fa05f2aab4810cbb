"""How well confidences have held, from what the fit of the engine's numbers left on record."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from traindx.diagnosis import Diagnosis
from traindx.engine.fitted import CURVE, DATA, level_of
from traindx.reporters.html.extras import Bin, Reliability
from traindx.reporters.wording import count


def measured(diagnosis: Diagnosis) -> Reliability | None:
    """The reliability of diagnoses that rest on evidence of the same kind; None where none was measured."""
    name = level_of(diagnosis.symptoms)
    bins = tuple(Bin(*entry) for entry in _levels().get(name, {}).get("reliability", ()))
    if not bins:
        return None
    kind = "logs" if name == CURVE else "recordings"
    sentence = (
        f"Calibrated on {count(sum(one.count for one in bins))} {kind}, some with one injected fault, each on a task "
        "that was left out of the fit: for diagnoses of each confidence, how many were right. Trainings of other "
        "kinds may differ."
    )
    return Reliability(bins, sentence)


@cache
def _levels() -> dict[str, Any]:
    levels: dict[str, Any] = msgspec.json.decode(files("traindx.engine").joinpath(DATA).read_bytes())["levels"]
    return levels
