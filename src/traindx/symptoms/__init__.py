"""The symptoms of the catalogue: one module each, registered by being there."""

from __future__ import annotations

import sys
from functools import cache

from traindx.registry import load_units
from traindx.symptoms.base import Symptom
from traindx.thresholds import Threshold


@cache
def symptoms() -> dict[str, Symptom]:
    """Every symptom by its id."""
    return load_units(__name__, __path__, "SYMPTOM", Symptom)


def thresholds(identifier: str) -> dict[str, Threshold]:
    """The thresholds that a symptom compares with, by their names in its module."""
    assert identifier in symptoms()
    module = sys.modules[f"{__name__}.{identifier.replace('-', '_')}"]
    return {name: value for name, value in vars(module).items() if isinstance(value, Threshold)}
